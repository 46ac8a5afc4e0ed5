# Setting up the Python side, and saying what is there.

#' Install the Python package for use from R
#'
#' Makes a Python virtual environment, `r-ewp` by default, and installs the Python package ewp in
#' it. Where reticulate is older than 1.38 the environment gets `numpy<2`, and `pandas<3` always,
#' which are what reticulate can work with. Nothing is asked. The environment is used from the next
#' start of R on, unless `RETICULATE_PYTHON` names another interpreter.
#'
#' @param source Where the Python package is: the folder of its repository, a wheel or source
#'   archive, or anything else that pip accepts, such as `"git+https://..."`. By default the option
#'   `ewp.source`, or the environment variable `EWP_SOURCE`. The bare name is refused: on the public
#'   index of Python packages it belongs to another package.
#' @param envname Name or folder of the virtual environment.
#' @param python Interpreter to make it with, Python 3.11 or newer. By default the one that
#'   reticulate finds.
#' @param extra Further requirements for pip.
#' @return The path of the environment's interpreter, invisibly.
#' @examples
#' \dontrun{
#' ewp_install("path/to/the/repository")
#' }
#' @export
ewp_install <- function(source = getOption("ewp.source", Sys.getenv("EWP_SOURCE")),
                        envname = "r-ewp", python = NULL, extra = character()) {
  if (!is.character(source) || length(source) != 1L || is.na(source) || !nzchar(source)) {
    stop("source is missing: give the folder of the Python package's repository, an archive of ",
         "it, or anything else that pip installs it from", call. = FALSE)
  }
  if (grepl("^ewp *(\\[.*\\])? *([<>=!~].*)?$", source) && !file.exists(source)) {
    stop("source = ", dQuote(source, FALSE), " would install another package: on the public index ",
         "this name is taken. Give the folder of the repository, or an archive", call. = FALSE)
  }
  if (!is.character(envname) || length(envname) != 1L || is.na(envname) || !nzchar(envname)) {
    stop("envname = ", shown(envname), " is not the name of an environment", call. = FALSE)
  }
  packages <- install_packages_for(source, extra)
  create_environment(envname, python)
  install_into(envname, packages)
  message("Installed. Restart R to use it if Python was running already; ewp_doctor() shows what is used.")
  invisible(environment_python(envname))
}

install_packages_for <- function(source, extra) {
  if (file.exists(source)) source <- normalizePath(source)
  c(source, if (needs_old_numpy()) "numpy<2", "pandas<3", extra)
}

# Apart, so that tests can take their place.
create_environment <- function(envname, python) {
  if (!reticulate::virtualenv_exists(envname)) {
    reticulate::virtualenv_create(envname, python = python, packages = FALSE)
  }
}

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
    problem <- tryCatch(find_problem(), error = conditionMessage)
    if (!is.null(problem)) return(FALSE)
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
  problem <- if (is.null(state$module)) tryCatch(find_problem(), error = conditionMessage)
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
        "ewp (Python)" = if (is.null(state$module)) in_python("ewp")
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
