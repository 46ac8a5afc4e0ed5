"""What is shown: formats of numbers, summaries, pictures of fits and selections."""
