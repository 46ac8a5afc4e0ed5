# Python: where it is, whether it will do, and what surrounds a call into it. Values are converted
# in coerce.R; nothing here knows about clustering.

state <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  declare_source()
  if (!reticulate::py_available(initialize = FALSE)) {
    # Imported at first use. The name of the environment tells reticulate where to look for it.
    state$delayed <- reticulate::import(
      "ewp", convert = FALSE, delay_load = list(environment = ENVIRONMENT)
    )
  }
}

ENVIRONMENT <- "r-ewp"

# First version of reticulate that works with NumPy 2.
NUMPY2_RETICULATE <- "1.38"

CURE <- paste(
  "Set RETICULATE_PYTHON to a Python that has the package ewp before Python is started,",
  "or run ewp_install(\"path/to/the/repository\"); ewp_doctor() shows what was found."
)

# Declare the Python package to reticulate where that is known (1.41 and later), with the source
# the user has named. Never by its bare name, which is another package's on the public index.
declare_source <- function(declare = reticulate_export("py_require")) {
  source <- python_source()
  if (is.null(declare) || is.null(source) || nzchar(Sys.getenv("RETICULATE_PYTHON"))) {
    return(invisible(FALSE))
  }
  declare(requirement(source), python_version = ">=3.11")
  invisible(TRUE)
}

reticulate_export <- function(name) {
  if (name %in% getNamespaceExports("reticulate")) getExportedValue("reticulate", name)
}

python_source <- function() {
  source <- getOption("ewp.source", Sys.getenv("EWP_SOURCE"))
  if (is.character(source) && length(source) == 1L && nzchar(source)) source
}

# What pip is to be asked for: a folder or file by its full path, anything else as it is.
requirement <- function(source) {
  if (!file.exists(source)) return(source)
  path <- normalizePath(source, winslash = "/")
  paste0("ewp @ file://", if (startsWith(path, "/")) "" else "/", utils::URLencode(path))
}

# Start Python, unless it runs, without the questions and downloads that reticulate offers itself.
start_python <- function() {
  if (reticulate::py_available(initialize = FALSE)) return(NULL)
  settings <- c(RETICULATE_MINICONDA_ENABLED = "FALSE", RETICULATE_AUTOCREATE_PACKAGE_VENV = "no")
  declared <- !is.null(python_source()) && !is.null(reticulate_export("py_require"))
  if (!declared) settings <- c(settings, RETICULATE_USE_MANAGED_VENV = "no")
  before <- Sys.getenv(names(settings), unset = NA)
  on.exit({
    Sys.unsetenv(names(settings)[is.na(before)])
    if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
  })
  do.call(Sys.setenv, as.list(settings))
  tryCatch(
    if (suppressWarnings(reticulate::py_available(initialize = TRUE))) NULL
    else "no usable Python was found",
    error = function(e) python_message(e)
  )
}

# NULL if the Python package can be used, else one sentence that says why not.
find_problem <- function() {
  trouble <- start_python()
  if (!is.null(trouble)) return(paste0("Python could not be started: ", trouble, "."))
  python <- reticulate::py_config()$python
  if (!reticulate::py_module_available("ewp")) {
    return(paste0("the Python that is running (", python, ") does not have the package ewp."))
  }
  if (needs_old_numpy() && numeric_version(python_version_of("numpy")) >= "2") {
    return(paste0(
      "reticulate ", utils::packageVersion("reticulate"), " does not work with NumPy ",
      python_version_of("numpy"), " of ", python, ": it needs numpy<2, or reticulate ",
      NUMPY2_RETICULATE, "."
    ))
  }
  module <- tryCatch(
    reticulate::import("ewp", convert = FALSE), error = function(e) python_message(e)
  )
  if (is.character(module)) {
    return(paste0("the Python package ewp cannot be imported in ", python, ": ", module, "."))
  }
  if (!reticulate::py_has_attr(module, "EWPResults")) {
    return(paste0("the module ewp of ", python, " is another package of the same name."))
  }
  state$module <- module
  NULL
}

needs_old_numpy <- function() utils::packageVersion("reticulate") < NUMPY2_RETICULATE

# The version of a Python package, "" if there is none. Only what comes before a suffix such as rc1.
python_version_of <- function(name) {
  metadata <- reticulate::import("importlib.metadata", convert = FALSE)
  version <- tryCatch(
    reticulate::py_to_r(metadata$version(name)), error = function(e) ""
  )
  sub("^([0-9]+([.][0-9]+)*).*$", "\\1", version)
}

# The Python module, or an error that says what to do.
python <- function() {
  if (is.null(state$module)) {
    problem <- find_problem()
    if (!is.null(problem)) stop(problem, "\n", CURE, call. = FALSE)
  }
  state$module
}

# Names that Python's messages use, and what they are called in R.
PYTHON_NAMES <- c(
  n_clusters = "k", lam = "lambda", lams = "lambda", n_lams = "nlambda", n_init = "nstart",
  max_iter = "iter.max", random_state = "seed", X = "x"
)

in_r_words <- function(text) {
  for (name in names(PYTHON_NAMES)) {
    text <- gsub(paste0("\\b", name, "\\b"), PYTHON_NAMES[[name]], text, perl = TRUE)
  }
  text <- gsub("\\bNone\\b", "NULL", text, perl = TRUE)
  text <- gsub("\\bTrue\\b", "TRUE", text, perl = TRUE)
  gsub("\\bFalse\\b", "FALSE", text, perl = TRUE)
}

# Rows and columns that a warning names by Python's numbers, which count from 0, by R's.
in_r_numbers <- function(text) {
  shift <- function(pattern) {
    found <- gregexpr(pattern, text, perl = TRUE)
    regmatches(text, found) <<- lapply(regmatches(text, found), function(hits) {
      vapply(hits, function(hit) {
        numbers <- gregexpr("[0-9]+", hit)
        regmatches(hit, numbers) <- lapply(
          regmatches(hit, numbers), function(value) as.character(as.numeric(value) + 1)
        )
        sub("'x([0-9]+)'", "\\1", hit)
      }, "")
    })
  }
  shift("\\bcolumn 'x[0-9]+'(?=:)")
  shift("\\bin rows? [0-9]+(, [0-9]+)*")
  text
}

# The message of a Python exception without its class, traceback and advice on reticulate.
python_message <- function(error) {
  text <- conditionMessage(error)
  text <- sub("\n+(Detailed traceback|Run `reticulate|Run .*py_last_error)(.|\n)*$", "", text)
  text <- sub("^[A-Za-z_.]*(Error|Exception|Exit): *", "", text)
  sub("[.[:space:]]+$", "", in_r_words(text))
}

# Call a Python function: exceptions become R errors, the package's warnings R warnings.
call_python <- function(f, ...) {
  warnings <- reticulate::import("warnings", convert = FALSE)
  context <- warnings$catch_warnings(record = TRUE)
  caught <- context$`__enter__`()
  left <- FALSE
  leave <- function() if (!left) {
    left <<- TRUE
    context$`__exit__`(NULL, NULL, NULL)
  }
  on.exit(leave())
  warnings$simplefilter("ignore")
  warnings$simplefilter("always", category = reticulate::import_builtins(FALSE)$UserWarning)
  value <- tryCatch(
    f(...), error = function(e) stop(python_message(e), call. = FALSE)
  )
  leave()
  told <- vapply(seq_len(reticulate::py_len(caught)) - 1L, function(i) {
    one <- reticulate::py_get_item(caught, i)
    text <- reticulate::py_str(one$message)
    of_values <- identical(reticulate::py_to_r(one$category$`__name__`), "OutlierWarning")
    if (of_values) in_r_numbers(text) else text
  }, "")
  for (text in unique(told)) warning(in_r_words(text), call. = FALSE)
  value
}
