# Where the Python side is missing, tests that need it are skipped with the reason; where
# EWP_REQUIRE_PYTHON is set, as in continuous integration, that is a failure.
skip_without_python <- function() {
  if (ewp_available()) return(invisible())
  reason <- paste("the Python package cannot be used:", ewp_doctor()$problem)
  if (nzchar(Sys.getenv("EWP_REQUIRE_PYTHON"))) stop(reason) else skip(reason)
}

numbers <- iris[, 1:4]

iris_fit <- local({
  fit <- NULL
  function() {
    skip_without_python()
    if (is.null(fit)) fit <<- ewp(numbers, 3, lambda = 20, scale = TRUE, seed = 1)
    fit
  }
})

# Three groups in the first of several columns, whose variance is smaller than the others'.
groups <- function(n = 90, p = 6, relevant = 2) {
  set.seed(42)
  x <- matrix(rnorm(n * p), n, p, dimnames = list(paste0("row", seq_len(n)), paste0("v", seq_len(p))))
  x[, seq_len(relevant)] <- x[, seq_len(relevant)] * 0.04 + rep(c(0, 0.4, 1), length.out = n)
  x
}

# Run Python in a process of its own, the one that reticulate uses; data go there as a binary file.
# What it writes with show(), numbers to the last bit, comes back as a list of vectors.
in_python <- function(code, x = NULL, python = reticulate::py_config()$python) {
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  head <- c(
    "import sys, numpy as np, ewp",
    "def show(name, values):",
    "    print(name, *(float(v).hex() for v in np.ravel(values)))"
  )
  if (!is.null(x)) {
    con <- file(file.path(folder, "x.bin"), "wb")
    writeBin(as.vector(t(x)), con)
    close(con)
    head <- c(head, sprintf("X = np.fromfile(%s).reshape(%d, %d)",
                            encodeString(file.path(folder, "x.bin"), quote = "'"), nrow(x), ncol(x)))
  }
  script <- file.path(folder, "script.py")
  writeLines(c(head, code), script)
  lines <- system2(python, shQuote(script), stdout = TRUE)
  parts <- strsplit(lines, " ", fixed = TRUE)
  values <- lapply(parts, function(part) as.numeric(part[-1L]))
  stats::setNames(values, vapply(parts, `[`, "", 1L))
}

new_folder <- function() {
  folder <- tempfile("ewp")
  dir.create(folder)
  folder
}

# Run R code in a fresh process with this package installed; return what it prints.
in_fresh_r <- function(code, env = character()) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(code, script)
  library_of_ewp <- dirname(getNamespaceInfo("ewp", "path"))
  libraries <- paste(c(library_of_ewp, .libPaths()), collapse = .Platform$path.sep)
  suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), stdout = TRUE, stderr = TRUE,
    env = c(paste0("R_LIBS=", shQuote(libraries)), env)
  ))
}

# Type lines into an interactive R at a pseudo-terminal, in the home of a user who has nothing; return
# what is seen there.
in_interactive_r <- function(lines) {
  skip_on_os("windows")
  # Not the one that reticulate, when it runs, puts first.
  python <- "/usr/bin/python3"
  if (!file.exists(python)) skip("/usr/bin/python3, which makes the pseudo-terminal, is not there")
  home <- new_folder()
  on.exit(unlink(home, recursive = TRUE))
  typed <- file.path(home, "typed")
  writeLines(c(lines, "q('no')"), typed)
  code <- "import pty, sys; pty.spawn(sys.argv[1:])"
  r <- c(file.path(R.home("bin"), "R"), "--interactive", "--no-save", "--no-restore", "--quiet",
         "--no-readline", "--no-environ", "--no-init-file")
  libraries <- paste(c(dirname(getNamespaceInfo("ewp", "path")), .libPaths()),
                     collapse = .Platform$path.sep)
  unset <- c("RETICULATE_PYTHON", "EWP_SOURCE", "WORKON_HOME", "VIRTUAL_ENV", "PYTHONPATH",
             "RETICULATE_MINICONDA_ENABLED", "R_TESTS")
  told <- suppressWarnings(system2(
    "env", c(paste("-u", unset), paste0("HOME=", shQuote(home)), paste0("R_LIBS=", shQuote(libraries)),
             "PATH=/usr/bin:/bin", "TERM=dumb", shQuote(python), "-c", shQuote(code), shQuote(r)),
    stdin = typed, stdout = TRUE, stderr = TRUE, timeout = 120
  ))
  gsub("\r", "", told)
}

# Put something else in the place of one of the package's functions while a test runs.
local_function <- function(name, value, frame = parent.frame()) {
  space <- asNamespace("ewp")
  before <- get(name, space)
  put <- function(what) {
    unlockBinding(name, space)
    assign(name, what, space)
    lockBinding(name, space)
  }
  put(value)
  do.call(on.exit, list(bquote(.(put)(.(before))), add = TRUE), envir = frame)
}

# Draw nowhere.
drawing <- function(expr) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expr)
}
