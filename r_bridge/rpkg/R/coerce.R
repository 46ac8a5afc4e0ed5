# The one place where values change hands: what an R user may write becomes what Python takes, with
# errors that name the argument, and what Python returns becomes plain R data.

# ---- data ------------------------------------------------------------------------------------

# A numeric matrix with column names, or an error that names the columns that prevent it.
as_data_matrix <- function(x, what = "x", finite = TRUE, missing = NULL) {
  x <- if (is.data.frame(x)) numeric_frame(x, what) else numeric_array(x, what)
  check_rows(x, what)
  if (finite) check_finite(x, what, missing)
  x
}

check_rows <- function(x, what) {
  if (nrow(x) == 0L || ncol(x) == 0L) {
    stop(what, " has ", nrow(x), " rows and ", ncol(x), " columns: nothing to cluster",
         call. = FALSE)
  }
}

is_number <- function(column) {
  (is.numeric(column) || is.logical(column)) && !is.factor(column) && !inherits(column, "integer64")
}

numeric_frame <- function(x, what) {
  wrong <- !vapply(x, is_number, NA)
  if (any(wrong)) stop_not_numeric(x[wrong], what)
  rows <- if (.row_names_info(x) > 0L) row.names(x)
  plain_matrix(as.matrix(x), rows)
}

stop_not_numeric <- function(columns, what) {
  kind <- vapply(columns, function(column) class(column)[1L], "")
  stop(
    what, " has ", counted(length(columns), "column"), " that ",
    if (length(columns) == 1L) "is" else "are", " not numeric: ",
    listing(paste0(names(columns), " (", kind, ")")),
    "; drop ", if (length(columns) == 1L) "it" else "them", " or code ",
    if (length(columns) == 1L) "it" else "them", " as numbers",
    call. = FALSE
  )
}

numeric_array <- function(x, what) {
  if (isS4(x)) {
    stop(what, " is of class ", class(x)[1L], "; give as.matrix(", what, ") if it fits in memory",
         call. = FALSE)
  }
  if (inherits(x, "dist")) {
    stop(what, " is a distance matrix; give the data themselves", call. = FALSE)
  }
  if (is.factor(x) || !is_number(x)) {
    kind <- if (is.null(x)) "NULL" else class(x)[1L]
    if (is.matrix(x)) kind <- paste(typeof(x), "matrix")
    stop(what, " is not numeric but of class ", kind, "; give a numeric matrix or data frame",
         call. = FALSE)
  }
  if (length(dim(x)) > 2L) {
    stop(what, " has ", length(dim(x)), " dimensions; give a matrix or data frame", call. = FALSE)
  }
  rows <- if (is.matrix(x)) rownames(x) else names(x)
  plain_matrix(if (is.matrix(x)) x else matrix(x, ncol = 1L), rows)
}

# Values, dimensions and names, without any class or further attributes.
plain_matrix <- function(x, rows) {
  columns <- colnames(x)
  if (is.null(columns)) columns <- default_names(ncol(x))
  unnamed <- is.na(columns) | !nzchar(columns)
  columns[unnamed] <- default_names(ncol(x))[unnamed]
  # In place, so that a large matrix is copied once.
  shape <- dim(x)
  x <- as.double(x)
  dim(x) <- shape
  dimnames(x) <- list(rows, columns)
  x
}

default_names <- function(p) if (p > 0L) paste0("x", seq_len(p)) else character()

check_finite <- function(x, what, missing = NULL, whole = FALSE) {
  if (is.finite(sum(x))) return(invisible())
  absent <- colSums(is.na(x))
  infinite <- colSums(is.infinite(x))
  if (any(absent > 0) && (is.null(missing) || whole)) {
    cure <- if (whole) {
      paste("weights = \"cluster\" needs all values of a row: leave these rows out, with na.action = na.omit, impute",
            "the values before clustering, or give weights = \"common\"")
    } else {
      paste("fit to the other values of these rows, with na.action = na.pass, leave the rows out, with",
            "na.action = na.omit, or impute the values before clustering")
    }
    stop(what, " has missing values (NA) in ", counted(sum(absent > 0), "column"), ": ",
         listing(affected(x, absent)), "; ", cure, call. = FALSE)
  }
  nothing <- which(rowSums(!is.na(x)) == 0)
  if (length(nothing)) {
    stop(what, " has ", counted(length(nothing), "row"), " without any value: ",
         listing(if (is.null(rownames(x))) nothing else rownames(x)[nothing]),
         "; leave ", if (length(nothing) == 1L) "it" else "them", " out", call. = FALSE)
  }
  if (any(infinite > 0)) {
    stop(what, " has infinite values in ", counted(sum(infinite > 0), "column"), ": ",
         listing(affected(x, infinite)), call. = FALSE)
  }
}

affected <- function(x, count) {
  bad <- count > 0
  paste0(colnames(x)[bad], " (", vapply(count[bad], counted, "", "row"), ")")
}

counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

listing <- function(items, most = 10L) {
  shown <- paste(utils::head(items, most), collapse = ", ")
  more <- length(items) - most
  if (more > 0L) paste0(shown, " and ", more, " more") else shown
}

# The columns of a formula without a response, as a matrix; terms for use with new data.
formula_data <- function(terms, data, what = "data") {
  frame <- stats::model.frame(terms, data, na.action = stats::na.pass)
  terms <- attr(frame, "terms")
  factors <- attr(terms, "factors")
  if (length(factors) == 0L) stop("the formula has no columns; write ~ a + b", call. = FALSE)
  used <- rownames(factors)[rowSums(factors > 0) > 0]
  wrong <- !vapply(frame[used], function(column) is.matrix(column) || is_number(column), NA)
  if (any(wrong)) stop_not_numeric(frame[used][wrong], what)
  for (name in used) if (is.logical(frame[[name]])) frame[[name]] <- as.numeric(frame[[name]])
  x <- stats::model.matrix(terms, frame)
  x <- x[, attr(x, "assign") > 0L, drop = FALSE]
  named <- is.data.frame(data) && .row_names_info(data) > 0L
  list(x = plain_matrix(x, if (named) row.names(frame)), terms = terms)
}

# Rows for a fit: its columns, by name where there are names, in the order of the fit.
rows_for <- function(object, newdata, what = "newdata") {
  if (!is.null(object$terms)) {
    if (is.matrix(newdata)) newdata <- as.data.frame(newdata)
    if (!is.data.frame(newdata)) {
      stop(what, " must be a data frame: the fit was made with a formula", call. = FALSE)
    }
    x <- formula_data(object$terms, newdata, what)$x
    check_finite(x, what, missing_in(object))
    return(x)
  }
  columns <- feature_names(object)
  # One row given as a vector, as a fit with several columns allows.
  if (is.numeric(newdata) && is.null(dim(newdata)) && length(columns) > 1L) {
    newdata <- matrix(newdata, 1L, dimnames = list(NULL, names(newdata)))
  }
  if (is.data.frame(newdata)) newdata <- as.data.frame(newdata)
  given <- colnames(newdata)
  by_name <- !is.null(given) && !anyDuplicated(columns)
  if (by_name && all(columns %in% given)) {
    return(as_data_matrix(newdata[, columns, drop = FALSE], what, missing = missing_in(object)))
  }
  if (by_name && !identical(columns, default_names(length(columns)))) {
    stop(what, " lacks ", counted(sum(!columns %in% given), "column"), " of the fit: ",
         listing(setdiff(columns, given)), call. = FALSE)
  }
  x <- as_data_matrix(newdata, what, missing = missing_in(object))
  if (ncol(x) != length(columns)) {
    stop(what, " has ", counted(ncol(x), "column"), ", but the fit had ", length(columns),
         call. = FALSE)
  }
  colnames(x) <- columns
  x
}

# ---- options ---------------------------------------------------------------------------------

is_scalar <- function(value) is.numeric(value) && length(value) == 1L && !is.na(value)

as_count <- function(value, name, least = 1L) {
  if (!is_scalar(value) || !is.finite(value) || value != round(value)) {
    stop(name, " = ", shown(value), " is not a whole number", call. = FALSE)
  }
  if (value < least) stop(name, " = ", shown(value), " must be at least ", least, call. = FALSE)
  if (value > .Machine$integer.max) stop(name, " = ", shown(value), " is too large", call. = FALSE)
  as.integer(value)
}

as_number <- function(value, name, above = -Inf, below = Inf) {
  if (!is_scalar(value)) stop(name, " = ", shown(value), " is not a number", call. = FALSE)
  if (!(value > above && value < below)) {
    range <- if (above == -Inf) paste("below", below)
    else if (below == Inf) paste("finite and above", above)
    else paste("between", above, "and", below)
    stop(name, " = ", shown(value), " must be ", range, call. = FALSE)
  }
  as.double(value)
}

as_flag <- function(value, name) {
  if (!is.logical(value) || length(value) != 1L || is.na(value)) {
    stop(name, " = ", shown(value), " must be TRUE or FALSE", call. = FALSE)
  }
  as.logical(value)
}

as_choice <- function(value, name, choices) {
  if (!is.character(value) || length(value) != 1L || !value %in% choices) {
    stop(name, " = ", shown(value), " is unknown; give one of ",
         listing(dQuote(choices, FALSE)), call. = FALSE)
  }
  value
}

shown <- function(value) {
  text <- paste(deparse(value), collapse = " ")
  if (nchar(text) > 40L) paste0(substr(text, 1L, 37L), "...") else text
}

# A seed for Python. NULL draws one from R's generator, so that set.seed() makes fits reproducible.
as_seed <- function(seed) {
  if (is.null(seed)) return(sample.int(.Machine$integer.max, 1L))
  if (!is_scalar(seed) || seed != round(seed) || seed < 0 || seed > 2^53) {
    stop("seed = ", shown(seed), " is no seed; give a whole number of at least 0, or NULL",
         call. = FALSE)
  }
  if (seed <= .Machine$integer.max) as.integer(seed) else seed
}

# Python's int holds any seed; reticulate would make a float of what R's integers cannot hold.
python_integer <- function(value) {
  if (is.integer(value)) return(value)
  reticulate::import_builtins(FALSE)$int(format(value, scientific = FALSE))
}

as_penalty <- function(lambda) {
  if (is.character(lambda)) return(as_choice(lambda, "lambda", "auto"))
  as_number(lambda, "lambda", above = 0)
}

as_exponent <- function(s0) {
  if (is.character(s0)) return(as_choice(s0, "s0", "auto"))
  if (identical(as.double(s0), -Inf)) return(-Inf)
  as_number(s0, "s0", below = 0)
}

# The words that Python has for scalings and for forms of the weights.
SCALINGS <- c("auto", "standard", "decorrelate")
FORMS <- c("auto", "within", "between")

# TRUE and FALSE, as in scale(), beside Python's words.
as_scaling <- function(scale) {
  if (is.null(scale) || identical(scale, FALSE) || identical(scale, "none")) return(NULL)
  if (identical(scale, TRUE)) return("standard")
  if (is_decorrelated(scale) && scale != "decorrelate") {
    share <- suppressWarnings(as.numeric(sub("^decorrelate:", "", scale)))
    if (is.na(share) || share <= 0 || share > 1) {
      stop("scale = ", shown(scale), " has no share by which correlations are shrunk; give a number ",
           "above 0 and up to 1, such as \"decorrelate:0.25\"", call. = FALSE)
    }
    return(scale)
  }
  as_choice(scale, "scale", c(SCALINGS, "none"))
}

is_decorrelated <- function(scale) {
  is.character(scale) && length(scale) == 1L && grepl("^decorrelate(:|$)", scale)
}

# Variances that differ by more than this factor are told where a number for lambda means raw columns;
# the same factor as in Python.
UNEQUAL <- 100

# Whether a number for lambda decides what "auto" means for the scaling.
left_raw <- function(scale, lambda) identical(scale, "auto") && is.numeric(lambda)

tell_unequal <- function(sd) {
  sd <- sd[is.finite(sd) & sd > 0]
  if (length(sd) < 2L || (max(sd) / min(sd))^2 <= UNEQUAL) return(invisible())
  least <- which.min(sd)
  most <- which.max(sd)
  warning(
    "with a number for lambda the columns are not scaled, and their standard deviations differ: ",
    names(sd)[least], " has ", format(sd[[least]], digits = 2L), ", ", names(sd)[most], " ",
    format(sd[[most]], digits = 2L), ". scale = TRUE standardises them, as a lambda that is ",
    "chosen may do; ewp_refit(fit, x, lambda = ) keeps the scaling of a fit; scale = FALSE states ",
    "that raw columns are meant", call. = FALSE
  )
}

as_init <- function(init, k, columns) {
  if (is.character(init)) return(as_choice(init, "init", c("k-means++", "random")))
  if (is.na(k)) {
    stop("init must be \"k-means++\" or \"random\" where numbers of clusters are compared",
         call. = FALSE)
  }
  centers <- as_data_matrix(init, "init")
  if (nrow(centers) != k || ncol(centers) != length(columns)) {
    stop("init has ", nrow(centers), " rows and ", ncol(centers), " columns; starting centers ",
         "need ", k, " and ", length(columns), call. = FALSE)
  }
  if (all(columns %in% colnames(centers))) centers <- centers[, columns, drop = FALSE]
  centers
}

as_prior <- function(prior, columns) {
  if (is.null(prior)) return(NULL)
  if (!is.numeric(prior) || length(prior) != length(columns) || anyNA(prior)) {
    stop("prior must hold one number for each of the ", length(columns), " columns of x",
         call. = FALSE)
  }
  if (!is.null(names(prior))) {
    if (!all(columns %in% names(prior))) {
      stop("prior has no entry for ", listing(setdiff(columns, names(prior))), call. = FALSE)
    }
    prior <- prior[columns]
  }
  if (any(!is.finite(prior)) || any(prior < 0) || !any(prior > 0)) {
    stop("prior must be finite and not negative, with at least one positive entry", call. = FALSE)
  }
  as.array(as.double(prior))
}

# One weight for each row that was given; those of the rows that are kept.
as_row_weights <- function(weight, rows) {
  if (is.null(weight)) return(NULL)
  n <- nrow(rows$x)
  if (!is.null(rows$kept) && length(weight) == rows$given) weight <- weight[rows$kept]
  if (!is.numeric(weight) || length(weight) != n || !all(is.finite(weight)) || any(weight < 0)) {
    stop("sample_weight must hold a number of at least 0 for each of the ", n, " rows",
         call. = FALSE)
  }
  as.array(as.double(weight))
}

as_jobs <- function(n_jobs) {
  if (is.null(n_jobs)) return(NULL)
  if (identical(as.double(n_jobs), -1)) return(-1L)
  as_count(n_jobs, "n_jobs")
}

# What python_options() always gives.
PYTHON_OPTIONS <- c("s0", "eta", "init", "n_init", "scale", "dispersion", "prior", "polish",
                    "max_iter", "tol", "random_state", "n_jobs", "progress", "sample_weight")

# A number of starts, or "auto" where Python is to decide.
as_starts <- function(nstart) {
  if (identical(nstart, "auto")) nstart else as_count(nstart, "nstart")
}

# The options that ewp() and the selections share, checked, under the names they have in Python. What
# is not among them is left as it is: run_python() asks Python whether it knows it.
python_options <- function(rows, k, s0 = "auto", eta = 1.05, nstart = "auto", scale = "auto", seed = NULL,
                           dispersion = "auto", init = "k-means++", prior = NULL, polish = TRUE,
                           iter.max = 500, tol = 1e-8, sample_weight = NULL, n_jobs = NULL,
                           progress = FALSE, divergence = "euclidean", offset = NULL, weights = "common", ...) {
  more <- list(...)
  renamed <- intersect(names(more), names(PYTHON_NAMES))
  if (length(renamed)) {
    stop(renamed[1L], " is called ", PYTHON_NAMES[[renamed[1L]]], " in R", call. = FALSE)
  }
  if ("missing" %in% names(more)) {
    stop("missing is called na.action in R: na.action = na.pass fits to the values that are there",
         call. = FALSE)
  }
  if (!is.null(rows$missing)) more$missing <- rows$missing
  x <- rows$x
  c(list(
    s0 = as_exponent(s0),
    eta = as_number(eta, "eta", above = 1),
    init = as_init(init, k, colnames(x)),
    n_init = as_starts(nstart),
    scale = as_scaling(scale),
    dispersion = as_choice(dispersion, "dispersion", FORMS),
    prior = as_prior(prior, colnames(x)),
    polish = as_flag(polish, "polish"),
    max_iter = as_count(iter.max, "iter.max"),
    tol = as_number(tol, "tol", above = 0),
    random_state = as_seed(seed),
    n_jobs = as_jobs(n_jobs),
    progress = as_flag(progress, "progress"),
    sample_weight = as_row_weights(sample_weight, rows)
  ), divergence_options(rows, divergence, offset), weights_option(weights), more)
}

# Arguments beyond those that have a place have a name.
refuse_unnamed <- function(...) {
  more <- list(...)
  unnamed <- if (is.null(names(more))) length(more) else sum(!nzchar(names(more)))
  if (unnamed > 0L) {
    stop(counted(unnamed, "argument"), " too many without a name: write, for instance, lambda = 20",
         call. = FALSE)
  }
}

# Refuse options that neither this package nor the Python function has.
check_known <- function(f, options) {
  more <- setdiff(names(options), PYTHON_OPTIONS)
  if (!length(more)) return(invisible())
  parameters_of <- function(what) {
    parameters <- reticulate::import("inspect", convert = FALSE)$signature(what)$parameters
    from_python(reticulate::import_builtins(FALSE)$list(parameters$keys()))
  }
  known <- parameters_of(f)
  # A function that takes **options takes those of the estimator.
  if ("options" %in% known) known <- c(known, parameters_of(python()$EWP))
  unknown <- setdiff(more, known)
  if (!length(unknown)) return(invisible())
  own <- setdiff(names(formals(python_options)), c("rows", "k", "..."))
  stop("unknown ", if (length(unknown) == 1L) "argument: " else "arguments: ", listing(unknown),
       "; the options are k, lambda, ", listing(own, 20L), call. = FALSE)
}

# ---- to Python and back ----------------------------------------------------------------------

# Row by row, as NumPy lays out its arrays: the sums are then the same to the last bit.
to_array <- function(x) {
  numpy <- reticulate::import("numpy", convert = FALSE)
  array <- numpy$ascontiguousarray(x)
  # R's NA has bits of its own, and data are told by the hash of their bits.
  if (is.double(x) && anyNA(x)) array <- numpy$where(numpy$isnan(array), numpy$nan, array)
  array
}

from_python <- function(value) reticulate::py_to_r(value)

# A NumPy array or pandas Series of numbers as a vector, without the dimension of a 1-d array.
from_vector <- function(value, names = NULL) {
  array <- if (reticulate::py_has_attr(value, "to_numpy")) value$to_numpy() else value
  stats::setNames(as.double(from_python(array)), names)
}

from_matrix <- function(value, rows = NULL, columns = NULL) {
  array <- if (reticulate::py_has_attr(value, "to_numpy")) value$to_numpy() else value
  matrix(as.double(from_python(array)), ncol = length(columns), dimnames = list(rows, columns))
}

# Python counts clusters from 0.
from_labels <- function(value, names = NULL) {
  stats::setNames(as.integer(from_vector(value)) + 1L, names)
}

# A DataFrame column by column: reticulate does not convert those of every pandas.
from_frame <- function(frame, index = NULL) {
  names <- as.character(from_python(frame$columns$tolist()))
  columns <- lapply(names, function(name) {
    # tolist() gives a list for a single row, and a list with NULLs for None.
    values <- from_python(reticulate::py_get_item(frame, name)$tolist())
    values <- if (is.list(values)) unlist(lapply(values, or_missing)) else values
    if (is.null(values)) character() else as.vector(values)
  })
  names(columns) <- names
  if (!is.null(index)) {
    columns <- c(stats::setNames(list(as.vector(from_python(frame$index$tolist()))), index), columns)
  }
  as.data.frame(columns, stringsAsFactors = FALSE, check.names = FALSE)
}

or_missing <- function(value) if (is.null(value)) NA else value
