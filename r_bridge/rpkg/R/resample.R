# A fit of any session handed back to Python, to be fitted again to parts of its rows.

# Call a method of the results object that belongs to a fit.
diagnose <- function(name, object, x, options) {
  ask_results(as_results(object, x), name, options)
}

ask_results <- function(results, name, options) {
  if (!reticulate::py_has_attr(results, name)) {
    stop("the Python package is too old for this: it has no ", name, "()", call. = FALSE)
  }
  if (!is.null(options$random_state)) options$random_state <- python_integer(options$random_state)
  do.call(call_python, c(list(results[[name]]), options))
}

# Python's results object from a fit's plain data: the reverse of as_ewp(), for fits of any session.
as_results <- function(object, x) {
  module <- python()
  pandas <- reticulate::import("pandas", convert = FALSE)
  features <- pandas$Index(as.list(feature_names(object)))
  clusters <- pandas$RangeIndex(length(object$size), name = "cluster")
  vector <- function(value) to_array(as.array(as.double(value)))
  frame <- function(columns, ...) {
    pandas$DataFrame(do.call(reticulate::dict, lapply(columns, as.list)), ...)
  }
  weight <- if (!is.null(object$sample_weight)) vector(object$sample_weight)
  module$EWPResults(
    weights = if (by_cluster(object)) {
      pandas$DataFrame(to_array(unname(object$weights)), index = clusters, columns = features)
    } else {
      pandas$Series(vector(object$weights), index = features, name = "weight")
    },
    centroids = pandas$DataFrame(to_array(unname(object$centers)), index = clusters, columns = features),
    labels = pandas$Series(as.list(unname(object$cluster) - 1L), name = "cluster"),
    objective = object$objective,
    objective_trace = frame(object$trace),
    s0 = object$s0, converged = object$converged, n_iter = object$iter,
    clusters = frame(
      c(list(size = object$size, mass = object$metric$mass, withinss = object$withinss),
        if (by_cluster(object)) list(price = object$metric$price)),
      index = clusters
    ),
    totss = object$totss,
    center = vector(object$metric$center), scale = vector(object$metric$scale),
    prior = vector(object$metric$prior), critical_exponent = object$critical_exponent,
    fit_options = as_fit_options(object),
    data = if (!is.null(x)) to_array(unname(x)), sample_weight = weight,
    decorrelation = as_decorrelation(object$metric),
    families = as_families(object),
    observed = if (!is.null(object$metric$observed)) vector(object$metric$observed),
    within = if (!is.null(object$metric$within)) vector(object$metric$within),
    spread = vector(object$metric$sd), selection = to_selection(object$selection),
    starts = if (!is.null(object$starts)) frame(object$starts),
    n_starts = if (is.null(object$n.starts)) 1L else object$n.starts,
    call = if (is.null(object$python)) "" else object$python$call,
    # dict() would take a name for the variable that has it
    versions = reticulate::py_dict(
      as.list(names(object$python$versions)), unname(as.list(object$python$versions))
    ),
    data_sha256 = object$python$data_sha256
  )
}

# The map to uncorrelated columns as Python keeps it.
as_decorrelation <- function(metric) {
  made <- metric$decorrelation
  if (is.null(made)) return(NULL)
  vector <- function(value) to_array(as.array(as.double(value)))
  reticulate::import("ewp.data.decorrelation", convert = FALSE)$Decorrelation(
    center = vector(metric$center), scale = vector(metric$scale), axes = to_array(unname(made$axes)),
    roots = vector(made$roots), shrinkage = made$shrinkage
  )
}

# The options of a fit as Python keeps them.
as_fit_options <- function(object) {
  options <- object$options
  given <- options$init %in% c("k-means++", "random")
  reticulate::import("ewp.solver.fit", convert = FALSE)$FitOptions(
    n_clusters = length(object$size), lam = object$lambda, eta = object$eta,
    scale = if (object$scaling != "none") object$scaling, dispersion = object$dispersion,
    init = if (given) options$init else to_array(unname(object$centers)),
    n_init = options$nstart, polish = options$polish, max_iter = options$iter.max,
    missing = if (did_without(object)) "observed" else "error",
    tol = options$tol, random_state = python_integer(object$seed),
    divergence = if (is_squared(object)) "euclidean" else reticulate::tuple(as.list(unname(object$divergence))),
    offset = as_offset(object$metric$families),
    weights = if (by_cluster(object)) "cluster" else "common"
  )
}

# Sizes of the rows as they were asked for.
as_offset <- function(families) {
  if (is.null(families$sizes)) return(NULL)
  if (is.null(families$reference)) to_array(as.array(families$sizes)) else "size"
}

# The record of a selection under Python's names: the reverse of from_selection().
to_selection <- function(record) {
  if (is.null(record)) return(NULL)
  renamed <- function(entry) {
    if (!is.null(entry)) names(entry)[names(entry) == "lambda"] <- "lam"
    entry
  }
  record$reason <- NULL
  record["chosen"] <- list(renamed(record$chosen))
  record["runner_up"] <- list(renamed(record$runner_up))
  record
}

# What the functions that resample have in common.
resampling_options <- function(seed, n_jobs, progress) {
  list(
    random_state = as_seed(seed), n_jobs = as_jobs(n_jobs), progress = as_flag(progress, "progress")
  )
}
