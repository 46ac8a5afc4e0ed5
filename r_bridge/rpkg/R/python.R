# Python: where it is, whether it will do, and what surrounds a call into it. Values are converted
# in coerce.R; nothing here knows about clustering.

state <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  declare_python()
  if (!reticulate::py_available(initialize = FALSE)) {
    # Imported at first use. The name of the environment tells reticulate where to look for it.
    state$delayed <- reticulate::import(
      "ewp", convert = FALSE, delay_load = list(environment = ENVIRONMENT)
    )
  }
}

ENVIRONMENT <- "r-ewp"

# What the Python package is called where Python packages are had from; it is imported as ewp.
DISTRIBUTION <- "ewp-kmeans"

# First versions of reticulate that work with NumPy 2, and that make environments themselves.
NUMPY2_RETICULATE <- "1.38"
MANAGED_RETICULATE <- "1.41"

OLDEST_PYTHON <- "3.11"

CURE <- paste0(
  "Run ewp_install(), which makes an environment with the Python package ", DISTRIBUTION,
  ", or set RETICULATE_PYTHON to a Python that has it, and start R again; ewp_doctor() shows what ",
  "was found."
)

# Every failure of finding Python, or the package in it, ends in this condition.
stop_without_python <- function(problem) {
  stop(structure(
    class = c("ewp_no_python", "error", "condition"),
    list(message = paste0(problem, "\n", CURE), call = NULL, problem = problem)
  ))
}

# Say what the package needs to a reticulate that then makes an environment with it (1.41 and
# later). An interpreter that the user chose has to have it already.
declare_python <- function(declare = reticulate_export("py_require")) {
  chosen <- Sys.getenv("RETICULATE_PYTHON")
  if (is.null(declare) || !chosen %in% c("", "managed")) return(invisible(FALSE))
  declare(c(requirement(python_source()), "pandas<3"), python_version = paste0(">=", OLDEST_PYTHON))
  invisible(TRUE)
}

reticulate_export <- function(name) {
  if (name %in% getNamespaceExports("reticulate")) getExportedValue("reticulate", name)
}

# Where the Python package is to be had: what the user named, else its name on the index.
python_source <- function() {
  source <- getOption("ewp.source", Sys.getenv("EWP_SOURCE"))
  if (is.character(source) && length(source) == 1L && nzchar(source)) source else DISTRIBUTION
}

# What pip is to be asked for: a folder or file by its full path, anything else as it is.
requirement <- function(source) {
  if (source == DISTRIBUTION || !file.exists(source)) return(source)
  path <- normalizePath(source, winslash = "/")
  paste0(DISTRIBUTION, " @ file://", if (startsWith(path, "/")) "" else "/", utils::URLencode(path))
}

# Start Python, unless it runs, without the questions and downloads that reticulate offers itself.
# NULL, or one sentence that says why there is no Python.
start_python <- function() {
  if (reticulate::py_available(initialize = FALSE)) return(NULL)
  wrong <- chosen_problem(Sys.getenv("RETICULATE_PYTHON"))
  if (!is.null(wrong)) return(wrong)
  settings <- c(RETICULATE_MINICONDA_ENABLED = "FALSE", RETICULATE_AUTOCREATE_PACKAGE_VENV = "no")
  # A check of packages fetches nothing.
  if (nzchar(Sys.getenv("_R_CHECK_PACKAGE_NAME_"))) {
    settings <- c(settings, RETICULATE_USE_MANAGED_VENV = "no")
  }
  before <- Sys.getenv(names(settings), unset = NA)
  # What fails on the way is told once, at the end.
  shown <- options(show.error.messages = FALSE)
  on.exit({
    options(shown)
    restore_variables(before)
  })
  do.call(Sys.setenv, as.list(settings))
  tryCatch(
    {
      suppressWarnings(suppressMessages(reticulate::py_config()))
      if (reticulate::py_available(initialize = FALSE)) NULL else "no usable Python was found."
    },
    error = function(e) {
      # The advice on Miniconda, which reticulate adds, is not ours.
      reason <- sub("\n.*install_miniconda.*$", "", python_message(e))
      paste0("Python could not be started: ", sub("[.[:space:]]+$", "", reason), ".")
    }
  )
}

restore_variables <- function(before) {
  Sys.unsetenv(names(before)[is.na(before)])
  if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
}

# What is wrong with the interpreter that RETICULATE_PYTHON names, found out in a process of its own.
chosen_problem <- function(path) {
  if (path %in% c("", "managed")) return(NULL)
  named <- paste0("RETICULATE_PYTHON is ", dQuote(path, FALSE))
  if (!file.exists(path)) return(paste0(named, ", but there is no such file."))
  if (dir.exists(path)) {
    inside <- file.path(path, c("bin/python", "bin/python3", "python", "python.exe", "Scripts/python.exe"))
    inside <- inside[file.exists(inside) & !dir.exists(inside)]
    if (!length(inside)) return(paste0(named, ", a folder without a Python."))
    path <- inside[1L]
  }
  # Where RETICULATE_PYTHON does not lead to a Python nothing but this sentence is to be seen.
  said <- suppressWarnings(tryCatch(
    system2(path, c("-c", shQuote("import sys; print('python', '%d.%d' % sys.version_info[:2])")),
            stdout = TRUE, stderr = TRUE, timeout = 60),
    error = function(e) character()
  ))
  version <- sub("^python ", "", grep("^python [0-9]+[.][0-9]+$", said, value = TRUE))
  if (!length(version)) return(paste0(named, ", which is not a Python that runs."))
  too_old(version[1L], path)
}

too_old <- function(version, python) {
  if (numeric_version(version) >= OLDEST_PYTHON) return(NULL)
  paste0("Python ", version, " (", python, ") is too old: version ", OLDEST_PYTHON,
         " or newer is needed.")
}

# NULL if the Python package can be used, else one sentence that says why not.
find_problem <- function() {
  tryCatch(look_for_problem(), error = function(e) {
    paste0("Python could not be used: ", python_message(e), ".")
  })
}

look_for_problem <- function() {
  trouble <- start_python()
  if (!is.null(trouble)) return(trouble)
  config <- reticulate::py_config()
  python <- config$python
  trouble <- too_old(as.character(config$version), python)
  if (!is.null(trouble)) return(trouble)
  found <- module_found("ewp")
  if (is.null(found)) {
    return(paste0("the Python that is running (", python, ") does not have the package ",
                  DISTRIBUTION, "."))
  }
  if (!nzchar(found)) {
    return(paste0("the Python that is running (", python, ") does not have the package ",
                  DISTRIBUTION, "; a folder called ewp, as in ", dQuote(getwd(), FALSE),
                  ", is not the package."))
  }
  numpy <- python_version_of("numpy")
  if (!nzchar(numpy)) return(paste0("the Python that is running (", python, ") does not have NumPy."))
  if (needs_old_numpy() && numeric_version(numpy) >= "2") {
    return(paste0(
      "reticulate ", utils::packageVersion("reticulate"), " does not work with NumPy ", numpy,
      " of ", python, ": it needs numpy<2, or reticulate ", NUMPY2_RETICULATE, "."
    ))
  }
  module <- tryCatch(
    reticulate::import("ewp", convert = FALSE), error = function(e) python_message(e)
  )
  if (is.character(module)) {
    return(paste0("the Python package ", DISTRIBUTION, " cannot be imported in ", python, ": ",
                  module, "."))
  }
  if (!reticulate::py_has_attr(module, "EWPResults")) return(foreign_problem(found, python))
  state$module <- module
  NULL
}

# Where Python finds a module: its file, "" for a folder that holds none, NULL for nothing.
module_found <- function(name) {
  spec <- reticulate::import("importlib.util", convert = FALSE)$find_spec(name)
  if (is.null(from_python(spec))) return(NULL)
  origin <- from_python(spec$origin)
  if (is.null(origin)) "" else origin
}

# On the public index the name ewp is another package's; this one's is ewp-kmeans.
foreign_problem <- function(file, python) {
  paste0(
    "the module ewp of ", python, " (", file, ") is another package of the same name. Remove it ",
    "and install this one: ", python, " -m pip uninstall ewp; ", python, " -m pip install ",
    DISTRIBUTION, "."
  )
}

needs_old_numpy <- function() utils::packageVersion("reticulate") < NUMPY2_RETICULATE

# The version of a Python package, "" if there is none. Only what comes before a suffix such as rc1.
python_version_of <- function(name) {
  metadata <- reticulate::import("importlib.metadata", convert = FALSE)
  version <- tryCatch(from_python(metadata$version(name)), error = function(e) "")
  sub("^([0-9]+([.][0-9]+)*).*$", "\\1", version)
}

# The Python module, or an error that says what to do.
python <- function() {
  if (is.null(state$module)) {
    problem <- find_problem()
    if (!is.null(problem)) stop_without_python(problem)
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

# Python's warnings that have a class of their own in R too, so that they can be told from others.
WARNING_CLASSES <- c(NoClustersWarning = "ewp_no_clusters")

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
  told <- lapply(seq_len(reticulate::py_len(caught)) - 1L, function(i) {
    one <- reticulate::py_get_item(caught, i)
    text <- reticulate::py_str(one$message)
    category <- reticulate::py_to_r(one$category$`__name__`)
    if (category == "OutlierWarning") text <- in_r_numbers(text)
    own <- WARNING_CLASSES[intersect(category, names(WARNING_CLASSES))]
    warningCondition(in_r_words(text), class = unname(own))
  })
  for (one in unique(told)) warning(one)
  value
}
