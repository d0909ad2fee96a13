# rumflow from R: call the command line, read its JSON. Needs the package jsonlite, and rumflow on the PATH
# (or name it: options(rumflow = "/path/to/venv/bin/rumflow")).
rumflow <- function(command, data, ...) {
  program <- getOption("rumflow", "rumflow")
  if (!nzchar(Sys.which(program))) stop(program, " is not found: name it by options(rumflow = ...)")
  file <- data
  if (is.data.frame(data)) {
    file <- tempfile(fileext = ".csv")
    on.exit(unlink(file))
    utils::write.csv(data, file, row.names = FALSE, na = "")
  }
  options <- list(...)
  words <- unlist(lapply(names(options), function(name) {
    value <- options[[name]]
    flag <- paste0("--", gsub("_", "-", name))
    if (isTRUE(value)) flag else c(flag, shQuote(paste(value, collapse = ",")))
  }))
  errors <- tempfile()
  on.exit(unlink(errors), add = TRUE)
  out <- suppressWarnings(system2(program, c(command, shQuote(file), "--json", words),
                                  stdout = TRUE, stderr = errors))
  status <- attr(out, "status")
  if (!is.null(status) && status != 2) {  # 2: the answer is there, but did not converge
    said <- paste(readLines(errors), collapse = "\n")
    stop(if (nzchar(said)) said else paste("rumflow ended with status", status))
  }
  jsonlite::fromJSON(paste(out, collapse = "\n"))
}

# choices <- data.frame(menu = c("a,b", "a,b,c"), choice = c("a", "c"), count = c(31, 20))
# rumflow("test", choices, n_boot = 199, seed = 1)$pvalue
