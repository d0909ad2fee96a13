"""Tables, frames, files, pictures and progress; knows no result class."""
