# Setting up the Python side, and saying what is there.

#' Install the Python package for use from R
#'
#' Makes a Python virtual environment, `r-ewp` by default, and installs the Python package ewp-kmeans in
#' it. Where reticulate is older than 1.38 the environment gets `numpy<2`, and `pandas<3` always,
#' which are what reticulate can work with. Nothing is asked. If the installation fails, an environment
#' that was made for it is removed. The environment is used from the next start of R on, unless
#' `RETICULATE_PYTHON` names another interpreter.
#'
#' With reticulate 1.41 or newer this is not needed: it makes an environment itself when Python is used
#' first.
#'
#' @param source Where the Python package is to be had: `"ewp-kmeans"` from the public index of Python
#'   packages, the folder of its repository, a wheel or source archive, or anything else that pip
#'   accepts, such as `"git+https://..."`. By default the option `ewp.source`, else the environment
#'   variable `EWP_SOURCE`, else `"ewp-kmeans"`. The name `"ewp"` is refused: on the index it belongs to
#'   another package.
#' @param envname Name or folder of the virtual environment.
#' @param python Interpreter to make it with, Python 3.11 or newer. By default the one that
#'   reticulate finds.
#' @param extra Further requirements for pip.
#' @return The path of the environment's interpreter, invisibly.
#' @examples
#' \dontrun{
#' ewp_install()
#' ewp_install("path/to/the/repository")
#' }
#' @export
ewp_install <- function(source = getOption("ewp.source", Sys.getenv("EWP_SOURCE", "ewp-kmeans")),
                        envname = "r-ewp", python = NULL, extra = character()) {
  source <- checked_source(source)
  if (!is.character(envname) || length(envname) != 1L || is.na(envname) || !nzchar(envname)) {
    stop("envname = ", shown(envname), " is not the name of an environment", call. = FALSE)
  }
  made <- create_environment(envname, python)
  tryCatch(
    install_into(envname, c(source, if (needs_old_numpy()) "numpy<2", "pandas<3", extra)),
    error = function(e) {
      if (made) remove_environment(envname)
      stop("pip could not install ", dQuote(source, FALSE), ": ", conditionMessage(e),
           "\nWhat pip said is above. ", if (made) "The environment that was made is removed. ",
           "Without the index of Python packages, give the folder of the repository.", call. = FALSE)
    }
  )
  message("Installed. Restart R to use it if Python was running already; ewp_doctor() shows what is used.")
  invisible(environment_python(envname))
}

# A source that pip can install from, looked at before anything is made.
checked_source <- function(source) {
  if (!is.character(source) || length(source) != 1L || is.na(source) || !nzchar(source)) {
    stop("source is missing: give the folder of the Python package's repository, an archive of ",
         "it, or anything else that pip installs it from", call. = FALSE)
  }
  if (file.exists(source)) {
    if (dir.exists(source) && !file.exists(file.path(source, "pyproject.toml"))) {
      stop("source = ", dQuote(source, FALSE), " is a folder without pyproject.toml, so not the ",
           "Python package's: give the top folder of its repository", call. = FALSE)
    }
    return(normalizePath(source))
  }
  if (grepl("^ewp *(\\[.*\\])? *([<>=!~].*)?$", source)) {
    stop("source = ", dQuote(source, FALSE), " would install another package: on the public index ",
         "this name is taken, and the package is called ", DISTRIBUTION, call. = FALSE)
  }
  address <- grepl("^[a-z+]+://|@", source)
  if (!address && grepl("[/\\\\]|^[.~]|[.](whl|gz|zip)$", source)) {
    stop("source = ", dQuote(source, FALSE), " is not there: there is no such file or folder (from ",
         dQuote(getwd(), FALSE), ")", call. = FALSE)
  }
  source
}

# Apart, so that tests can take their place. TRUE if the environment was made, not found.
create_environment <- function(envname, python) {
  if (reticulate::virtualenv_exists(envname)) return(FALSE)
  reticulate::virtualenv_create(envname, python = python, packages = FALSE)
  TRUE
}

remove_environment <- function(envname) reticulate::virtualenv_remove(envname, confirm = FALSE)

install_into <- function(envname, packages) {
  reticulate::virtualenv_install(envname, packages = packages)
}

environment_python <- function(envname) reticulate::virtualenv_python(envname)

#' Is the Python package there?
#'
#' @return `TRUE` if the functions that need Python can be used, else `FALSE`; never an error. This
#'   starts Python if it is not running.
#' @examples
#' ewp_available()
#' @export
ewp_available <- function() {
  if (is.null(state$module)) {
    return(is.null(find_problem()))
  }
  TRUE
}

#' What is installed, and what to do about what is not
#'
#' @return A list of class `"ewp_doctor"`, printed as one screen: versions of R, of this package, of
#'   reticulate and of the Python side, where Python was found, what is wrong (`problem`, `NULL` if
#'   nothing is) and the cure. Starts Python if it is not running.
#' @examples
#' ewp_doctor()
#' @export
ewp_doctor <- function() {
  problem <- if (is.null(state$module)) find_problem()
  running <- reticulate::py_available(initialize = FALSE)
  config <- if (running) reticulate::py_config()
  version_of <- function(name) {
    if (!requireNamespace(name, quietly = TRUE)) "not installed"
    else as.character(utils::packageVersion(name))
  }
  in_python <- function(name) {
    version <- if (running) python_version_of(name) else ""
    if (nzchar(version)) version else "not found"
  }
  set <- Sys.getenv("RETICULATE_PYTHON")
  environment <- tryCatch(reticulate::virtualenv_exists(ENVIRONMENT), error = function(e) FALSE)
  structure(
    list(
      r = c(
        "R" = as.character(getRversion()),
        "ewp (R)" = as.character(utils::packageVersion("ewp")),
        "reticulate" = version_of("reticulate"),
        "sparcl" = version_of("sparcl"),
        "generics" = version_of("generics")
      ),
      python = c(
        "RETICULATE_PYTHON" = if (nzchar(set)) set else "not set",
        "environment r-ewp" = if (environment) "there" else "not there",
        "Python" = if (running) config$python else "not running",
        "Python version" = if (running) as.character(config$version) else "-",
        "ewp-kmeans" = if (is.null(state$module)) in_python(DISTRIBUTION)
        else from_python(state$module$`__version__`),
        "numpy" = in_python("numpy"),
        "pandas" = in_python("pandas")
      ),
      problem = problem,
      cure = if (!is.null(problem)) CURE
    ),
    class = "ewp_doctor"
  )
}

#' @export
print.ewp_doctor <- function(x, ...) {
  rows <- c(x$r, x$python)
  cat(paste0(format(names(rows)), "  ", rows, "\n"), sep = "")
  if (is.null(x$problem)) {
    cat("\nEverything is there.\n")
  } else {
    cat("\nProblem: ", x$problem, "\n", sep = "")
    cat(paste0(strwrap(x$cure), "\n"), sep = "")
  }
  invisible(x)
}
