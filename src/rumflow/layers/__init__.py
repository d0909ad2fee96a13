"""What the layers of all frameworks share: which cells they read and write, and what projects behind them."""
