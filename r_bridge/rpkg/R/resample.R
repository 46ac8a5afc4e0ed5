# Uncertainty and consistency of a fit, by fitting again in Python.

#' Bootstrap of weights and centres
#'
#' Fits resamples of the rows, from the fit's own estimates, and returns intervals for all weights and
#' centres. Everything is conditional on the number of clusters, the penalty, the scaling and the
#' form of the weights.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param n_boot Number of resamples.
#' @param n_jackknife Number of parts of the rows to leave out in turn, which BCa intervals need.
#' @param level Level of the intervals.
#' @param method `"bca"` or `"percentile"`; `NULL` takes BCa where there is a jackknife.
#' @param threshold A column with more weight than this counts as selected; by default the weight
#'   that all would have if they were equal.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @param n_jobs Number of processes; -1 for all cores.
#' @param progress Whether to show a progress bar.
#' @return A list of class `"ewp_bootstrap"`: the data frames `weights` (one row a column of the data:
#'   `feature`, `weight`, `lower`, `upper`, `se`, `bias` and `selected`, the share of the resamples
#'   in which it counts as selected), `centers` (`cluster`, `feature`, `center`, `lower`, `upper`,
#'   `se`) and `switches` (pairs of columns whose order by weight is not the same in all resamples),
#'   the matrix `draws` of the resamples' weights, and `level`, `method`, `threshold`, `n_boot`,
#'   `converged` (share of the resamples), `complete`, `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' resampled <- ewp_bootstrap(fit, x, n_boot = 20, n_jackknife = 10, seed = 1)
#' resampled
#' plot(resampled)
#' @export
ewp_bootstrap <- function(object, x, n_boot = 200, n_jackknife = 50, level = 0.95, method = NULL,
                          threshold = NULL, seed = NULL, n_jobs = NULL, progress = FALSE) {
  call <- match.call()
  x <- fitted_rows(object, x)
  level <- as_number(level, "level", above = 0, below = 1)
  if (!is.null(method)) as_choice(method, "method", c("bca", "percentile"))
  if (!is.null(threshold)) threshold <- as_number(threshold, "threshold", above = 0, below = 1)
  options <- list(
    n_boot = as_count(n_boot, "n_boot", least = 2L),
    n_jackknife = as_count(n_jackknife, "n_jackknife", least = 0L),
    threshold = threshold,
    random_state = as_seed(seed),
    n_jobs = as_jobs(n_jobs),
    progress = as_flag(progress, "progress")
  )
  found <- diagnose("bootstrap", object, x, options)
  method <- if (is.null(method)) from_python(found$method) else method
  weights <- from_frame(call_python(found$weight_intervals, level, method))
  centers <- from_frame(call_python(found$centroid_intervals, level, method))
  names(centers)[names(centers) == "centroid"] <- "center"
  centers$cluster <- as.integer(centers$cluster) + 1L
  switches <- from_frame(found$rank_switches())
  features <- names(object$weights)
  structure(
    list(
      weights = cbind(feature = features, weights),
      centers = centers,
      switches = switches,
      draws = from_matrix(found$weight_draws, columns = features),
      level = level, method = method, threshold = from_python(found$threshold),
      n_boot = as.integer(from_python(found$n_boot)), converged = from_python(found$converged),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_bootstrap", "list")
  )
}

#' Consistency across the number of rows
#'
#' Fits nested random subsamples of growing size, with the penalty in proportion, and measures how far
#' their weights and centres are from the full fit's. The errors of a consistent estimator fall like
#' one over the root of the number of rows: a slope of -1/2 on a log-log scale.
#'
#' @inheritParams ewp_bootstrap
#' @param sizes Numbers of rows; by default halves of the data as often as makes sense.
#' @param n_rep Number of random orders of the rows.
#' @param reference A population that is known, as in a simulation, to measure the distance from
#'   instead of the full fit: another fit made by [ewp()], or a list of `centers` and `weights`.
#' @param level Level of the slopes' intervals.
#' @return A list of class `"ewp_consistency"`: the data frames `table` (one row a size: mean and
#'   standard deviation of each error, objective a row, agreement `ari` with the full fit),
#'   `replicates` (one row a fit), `slopes` (one row an error: `slope`, `lower`, `upper`, `se`,
#'   `verdict`) and `along_s` (the annealing of the fit against its limit), and `verdict`,
#'   `effective_n` (see [plot.ewp_consistency()]), `reference`, `n`, `level`, `complete`, `call`. It
#'   can be printed and plotted.
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' grown <- ewp_consistency(fit, x, sizes = c(30, 60, 120), n_rep = 5, seed = 1)
#' grown
#' plot(grown)
#' @export
ewp_consistency <- function(object, x, sizes = NULL, n_rep = 20, reference = NULL, level = 0.95,
                            seed = NULL, n_jobs = NULL, progress = FALSE) {
  call <- match.call()
  x <- fitted_rows(object, x)
  if (!is.null(sizes)) {
    if (!is.numeric(sizes) || !length(sizes)) {
      stop("sizes = ", shown(sizes), " must be numbers of rows", call. = FALSE)
    }
    sizes <- as.list(vapply(sizes, as_count, 1L, "sizes"))
  }
  options <- list(
    sizes = sizes,
    n_rep = as_count(n_rep, "n_rep"),
    reference = as_reference(reference, object),
    level = as_number(level, "level", above = 0, below = 1),
    random_state = as_seed(seed),
    n_jobs = as_jobs(n_jobs),
    progress = as_flag(progress, "progress")
  )
  found <- diagnose("consistency", object, x, options)
  slopes <- from_frame(found$slopes, index = "error")
  slopes$verdict <- from_python(found$verdicts$tolist())
  replicates <- from_frame(found$replicates)
  replicates$replicate <- as.integer(replicates$replicate) + 1L
  replicates$n <- as.integer(replicates$n)
  table <- from_frame(found$table, index = "n")
  structure(
    list(
      table = table, replicates = replicates, slopes = slopes,
      along_s = from_frame(found$along_s), verdict = from_python(found$verdict),
      effective_n = from_vector(found$effective_n),
      reference = from_python(found$reference), n = as.integer(from_python(found$n_obs)),
      level = options$level, complete = from_python(found$complete), call = call
    ),
    class = c("ewp_consistency", "list")
  )
}

# The rows of a fit, checked to be those.
fitted_rows <- function(object, x) {
  if (!inherits(object, "ewp")) {
    stop("object is not a fit made by ewp() but of class ", class(object)[1L], call. = FALSE)
  }
  if (missing(x)) stop("x is missing: give the data that were fitted", call. = FALSE)
  x <- rows_for(object, x, "x")
  if (nrow(x) != length(object$cluster)) {
    stop("x has ", counted(nrow(x), "row"), ", but the fit had ", length(object$cluster),
         call. = FALSE)
  }
  x
}

as_reference <- function(reference, object) {
  if (is.null(reference)) return(NULL)
  centers <- if (is.list(reference)) reference$centers
  weights <- if (is.list(reference)) reference$weights
  if (!is.matrix(centers) || !is.numeric(weights)) {
    stop("reference must be a fit made by ewp() or a list of centers and weights", call. = FALSE)
  }
  if (!identical(dim(centers), dim(object$centers)) || length(weights) != ncol(centers)) {
    stop("reference has ", nrow(centers), " centers and ", length(weights), " weights; the fit has ",
         nrow(object$centers), " and ", length(object$weights), call. = FALSE)
  }
  list(unname(centers), as.array(as.double(weights)))
}

# Call a method of the results object that belongs to a fit.
diagnose <- function(name, object, x, options) {
  results <- as_results(object, x)
  if (!reticulate::py_has_attr(results, name)) {
    stop("the Python package is too old for this: it has no ", name, "()", call. = FALSE)
  }
  options$random_state <- python_integer(options$random_state)
  do.call(call_python, c(list(results[[name]]), options))
}

# Python's results object from a fit's plain data: the reverse of as_ewp(), for fits of any session.
as_results <- function(object, x) {
  module <- python()
  pandas <- reticulate::import("pandas", convert = FALSE)
  features <- pandas$Index(as.list(names(object$weights)))
  clusters <- pandas$RangeIndex(length(object$size), name = "cluster")
  vector <- function(value) to_array(as.array(as.double(value)))
  frame <- function(columns, ...) {
    pandas$DataFrame(do.call(reticulate::dict, lapply(columns, as.list)), ...)
  }
  weight <- if (!is.null(object$sample_weight)) vector(object$sample_weight)
  options <- object$options
  module$EWPResults(
    weights = pandas$Series(vector(object$weights), index = features, name = "weight"),
    centroids = pandas$DataFrame(to_array(unname(object$centers)), index = clusters, columns = features),
    labels = pandas$Series(as.list(unname(object$cluster) - 1L), name = "cluster"),
    objective = object$objective,
    objective_trace = frame(object$trace),
    lam = object$lambda, s0 = object$s0, eta = object$eta, converged = object$converged,
    n_iter = object$iter,
    clusters = frame(
      list(size = object$size, mass = object$metric$mass, withinss = object$withinss), index = clusters
    ),
    totss = object$totss,
    center = vector(object$metric$center), scale = vector(object$metric$scale),
    scaling = object$scaling, dispersion = object$dispersion, prior = vector(object$metric$prior),
    critical_exponent = object$critical_exponent,
    options = reticulate::dict(
      init = options$init, n_init = options$nstart, polish = options$polish,
      max_iter = options$iter.max, tol = options$tol, random_state = python_integer(object$seed)
    ),
    data = to_array(unname(x)), sample_weight = weight, spread = vector(object$metric$sd)
  )
}

#' @export
print.ewp_bootstrap <- function(x, top = 10L, digits = 3L, ...) {
  cat("Bootstrap of an EWP fit: ", x$n_boot, " resamples", if (!x$complete) ", interrupted", "; ",
      format(100 * x$level), " % intervals (", c(bca = "BCa", percentile = "percentile")[x$method],
      ")\n\n", sep = "")
  table <- utils::head(x$weights[order(-x$weights$weight), ], top)
  table$selected <- sprintf("%.0f %%", 100 * table$selected)
  print(rounded(table, digits), row.names = FALSE)
  notes <- sprintf("selected: share of the resamples with a weight above %.3g.", x$threshold)
  more <- nrow(x$weights) - nrow(table)
  if (more > 0L) notes <- c(notes, sprintf("%d features with less weight are not listed.", more))
  if (x$converged < 1) {
    notes <- c(notes, sprintf("%.0f %% of the resamples' fits converged.", 100 * x$converged))
  }
  if (nrow(x$switches)) {
    first <- x$switches[1L, ]
    notes <- c(notes, sprintf("%s and %s change places in %.0f %% of the resamples.", first$heavier,
                              first$lighter, 100 * first$switched))
  }
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot a bootstrap
#'
#' The weights of the heaviest columns with their intervals.
#'
#' @param x What [ewp_bootstrap()] returned.
#' @param top Number of columns to draw.
#' @param main Title.
#' @param ... Further arguments of [graphics::barplot()].
#' @return `x`, invisibly.
#' @export
plot.ewp_bootstrap <- function(x, top = 20L, main = NULL, ...) {
  table <- x$weights
  plot_weights(
    stats::setNames(table$weight, table$feature), as_count(top, "top"), table$lower, table$upper,
    main = main, xlab = sprintf("weight, with %s %% interval", format(100 * x$level)), ...
  )
  invisible(x)
}

#' @export
print.ewp_consistency <- function(x, digits = 3L, ...) {
  cat("Consistency of an EWP fit against the ", x$reference, ": ", x$verdict, "\n\n", sep = "")
  columns <- c("n", "weights", "weights_sd", "centroids", "centroids_sd", "objective_per_row", "ari")
  print(rounded(x$table[intersect(columns, names(x$table))], digits), row.names = FALSE)
  cat("\nSlopes on the log-log scale (-1/2 is the theorem's rate), ", format(100 * x$level),
      " % intervals:\n", sep = "")
  print(rounded(x$slopes, digits), row.names = FALSE)
  if (!x$complete) cat("\nInterrupted: finished replicates only.\n")
  invisible(x)
}

#' Plot consistency
#'
#' The errors of weights and centres against the number of rows, on a log-log scale, with lines of
#' slope -1/2. A subsample of m of N rows differs from the full fit as a sample of 1/(1/m - 1/N) rows
#' differs from a population; this number is on the horizontal axis.
#'
#' @param x What [ewp_consistency()] returned.
#' @param main,xlab,ylab Title and labels of the axes.
#' @param ... Further graphical parameters, handed to [graphics::plot.default()].
#' @return `x`, invisibly.
#' @export
plot.ewp_consistency <- function(x, main = NULL, xlab = NULL, ylab = "error", ...) {
  if (is.null(xlab)) xlab <- if (x$reference == "population") "rows" else "rows, allowing for overlap with the full fit"
  at <- x$effective_n
  errors <- c(weights = "weights", centroids = "centers")
  tiny <- .Machine$double.eps
  values <- lapply(names(errors), function(name) pmax(x$table[[name]], tiny))
  graphics::plot(range(at), range(values), log = "xy", type = "n", main = main, xlab = xlab, ylab = ylab,
                 bty = "n", las = 1, ...)
  for (i in seq_along(values)) {
    y <- values[[i]]
    level <- exp(mean(log(y) + log(at) / 2))
    graphics::lines(at, level / sqrt(at), lty = 2, col = grDevices::adjustcolor(PALETTE[i], 0.6))
    graphics::lines(at, y, col = PALETTE[i], lwd = 2)
    graphics::points(at, y, col = PALETTE[i], pch = 19)
  }
  slopes <- x$slopes$slope[match(names(errors), x$slopes$error)]
  graphics::legend(
    "bottomleft", bty = "n", inset = 0.02,
    legend = c(sprintf("%s, slope %.2f", errors, slopes), "slope -1/2"),
    col = c(PALETTE[seq_along(errors)], INK), lty = c(1, 1, 2), lwd = c(2, 2, 1), pch = c(19, 19, NA)
  )
  invisible(x)
}
