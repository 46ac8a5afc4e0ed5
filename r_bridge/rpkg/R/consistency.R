# Whether the estimates settle as rows are added, from subsamples that Python fits.

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
#' @return A list of class `"ewp_consistency"`: the data frames `table` (one row per size: mean and
#'   standard deviation of each error, objective per row, agreement `ari` with the full fit),
#'   `replicates` (one row per fit), `slopes` (one row per error: `slope`, `lower`, `upper`, `se`,
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
  call <- call_of("ewp_consistency", match.call())
  x <- fitted_rows(object, x)
  stop_unless_common(object, "ewp_consistency()")
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

#' @export
print.ewp_consistency <- function(x, digits = 3L, ...) {
  cat("Consistency of an EWP fit across the number of rows\n\n")
  columns <- c("n", "weights", "weights_sd", "centroids", "centroids_sd", "objective_per_row", "ari")
  print(rounded(x$table[intersect(columns, names(x$table))], digits), row.names = FALSE)
  cat("\nSlopes on the log-log scale (-1/2 is the theorem's rate), ", format(100 * x$level),
      " % intervals:\n", sep = "")
  print(rounded(x$slopes, digits), row.names = FALSE)
  cat("\n", paste0(strwrap(consistency_words(x)), "\n"), sep = "")
  if (!x$complete) cat("\nInterrupted: finished replicates only.\n")
  invisible(x)
}

consistency_words <- function(x) {
  reach <- sprintf("between %d and %d rows", min(x$replicates$n), max(x$replicates$n))
  switch(x$verdict,
    seen = sprintf("Consistency is seen %s: weights and centers approach the %s.", reach, x$reference),
    exact = sprintf("Consistency is seen %s: there is no error at all.", reach),
    `not seen` = sprintf(paste(
      "CONSISTENCY IS NOT SEEN %s: the estimates do not approach the %s. There may be no unique best",
      "solution, for instance because the number of clusters is too large, or the rows are too few."
    ), reach, x$reference),
    sprintf(paste("Whether there is consistency cannot be told %s: more replicates or a wider range",
                  "of sizes would help."), reach)
  )
}

#' Plot consistency
#'
#' The errors of weights and centres against the number of rows, on a log-log scale, with lines of
#' slope -1/2. A subsample of m of N rows differs from the full fit as a sample of 1/(1/m - 1/N) rows
#' differs from a population; this number is on the horizontal axis.
#'
#' @param x What [ewp_consistency()] returned.
#' @param ... Graphical parameters, handed to [graphics::plot.default()] in the place of the defaults.
#' @return `x`, invisibly.
#' @export
plot.ewp_consistency <- function(x, ...) {
  at <- x$effective_n
  errors <- c(weights = "weights", centroids = "centers")
  tiny <- .Machine$double.eps
  values <- lapply(names(errors), function(name) pmax(x$table[[name]], tiny))
  given <- list(...)
  colour <- rep_len(given_or(given$col, PALETTE), length(errors))
  across <- "rows, allowing for overlap with the full fit"
  if (x$reference == "population") across <- "rows"
  draw_frame(range(at), range(values), given, log = "xy", xlab = across, ylab = "error")
  for (i in seq_along(values)) {
    y <- values[[i]]
    level <- exp(mean(log(y) + log(at) / 2))
    graphics::lines(at, level / sqrt(at), lty = 2, col = grDevices::adjustcolor(colour[i], 0.6))
    graphics::lines(at, y, col = colour[i], lwd = 2)
    graphics::points(at, y, col = colour[i], pch = 19, cex = given_or(given$cex, 1))
  }
  slopes <- x$slopes$slope[match(names(errors), x$slopes$error)]
  graphics::legend(
    "bottomleft", bty = "n", inset = 0.02,
    legend = c(sprintf("%s, slope %.2f", errors, slopes), "slope -1/2"),
    col = c(colour, INK), lty = c(1, 1, 2), lwd = c(2, 2, 1), pch = c(19, 19, NA)
  )
  invisible(x)
}
