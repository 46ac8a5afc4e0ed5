# Methods of the Python package over many starts: the comparison behind ewp_compare(methods = ).

METHODS <- c("kmeans", "wkmeans", "power", "power-published", "harmonic", "sparse",
             "sparse-annealed", "ewp", "ewp-between", "ewp-published", "mixture", "agglomerative")

run_trials <- function(rows, k, truth, lambda, scale, wbound, methods, n_trials, seed,
                       init = "random", replicates = "starts", ..., call) {
  k <- as_count(k, "k")
  if (is.null(methods)) methods <- c("kmeans", "wkmeans", "power", "sparse", "ewp")
  lambda <- as_penalty(lambda)
  options <- list(
    y = if (!is.null(truth)) as.list(as.character(truth)),
    methods = as.list(as_methods(methods)),
    n_trials = as_count(if (is.null(n_trials)) 20 else n_trials, "n_trials"),
    scale = if (!left_raw(scale, lambda)) as_scaling(scale),
    init = as_choice(init, "init", c("random", "k-means++")),
    replicates = as_choice(replicates, "replicates", c("starts", "bootstrap")),
    lam = lambda,
    wbound = if (identical(wbound, "auto")) "gap" else wbound,
    random_state = as_seed(seed),
    ...
  )
  found <- run_python("compare", rows$x, k, options = options)
  if (left_raw(scale, lambda)) tell_unequal(apply(rows$x, 2L, stats::sd))
  weights <- NULL
  if (!from_python(found$weights$empty)) {
    weights <- counted_from_one(from_frame(found$weights$reset_index()))
    names(weights)[-(1:2)] <- colnames(rows$x)
  }
  names <- unlist(from_python(found$methods))
  structure(
    list(
      table = from_frame(found$table()$drop(columns = marks(found)), index = "method"),
      scores = counted_from_one(from_frame(found$scores)),
      weights = weights,
      clusters = lapply(stats::setNames(names, names), function(name) {
        labels <- from_matrix(reticulate::py_get_item(found$labels, name), columns = row_labels(rows$x))
        storage.mode(labels) <- "integer"
        labels[labels < 0L] <- NA # rows that a resample does not hold
        labels + 1L
      }),
      settings = from_python(found$settings), measures = unlist(from_python(found$measures)),
      reference = from_python(found$reference), scaling = from_python(found$scaling),
      replicates = options$replicates,
      k = k, n = nrow(rows$x), p = ncol(rows$x), complete = from_python(found$complete),
      seed = options$random_state, call = call
    ),
    class = c("ewp_trials", "list")
  )
}

as_methods <- function(methods) {
  if (!is.character(methods) || !length(methods) || anyNA(methods)) {
    stop("methods = ", shown(methods), " must be names among ", listing(dQuote(METHODS, FALSE), 20L),
         call. = FALSE)
  }
  if ("sparcl" %in% methods) {
    stop("sparcl is an R package: leave out methods and n_trials, and ewp_compare() runs it in R",
         call. = FALSE)
  }
  methods
}

# The paper's marks say again what the p-values say.
marks <- function(found) as.list(paste0(unlist(from_python(found$measures)), "_mark"))

row_labels <- function(x) if (is.null(rownames(x))) as.character(seq_len(nrow(x))) else rownames(x)

counted_from_one <- function(table) {
  table$trial <- as.integer(table$trial) + 1L
  table
}

#' @export
print.ewp_trials <- function(x, digits = 3L, ...) {
  resampled <- identical(x$replicates, "bootstrap")
  unit <- if (resampled) "resample" else "start"
  cat("Comparison over ", counted(max(x$scores$trial), unit), ", ", x$n, " observations, ", x$p,
      " features (", if (x$scaling == "standard") "standardised" else "raw", "), ", x$k,
      " clusters\n\n", sep = "")
  print(rounded(x$table, digits), row.names = FALSE)
  notes <- paste0("Means over the ", unit, "s; _sd: standard deviations.")
  if (!is.null(x$reference) && nrow(x$table) > 1L) {
    notes <- c(
      notes,
      paste0("_p: Wilcoxon's signed-rank test against ", x$reference, ". ",
             if (resampled) "The resamples are of the same rows: it speaks of these data."
             else paste("It speaks of starts on these data, and of no other data:",
                        "see replicates = \"bootstrap\"."))
    )
  }
  if (!"nmi" %in% x$measures) {
    notes <- c(notes, "Measures without known groups count all features alike.")
  }
  if (!x$complete) notes <- c(notes, paste0("Interrupted: finished ", unit, "s only."))
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot a comparison over many starts
#'
#' Box plots of a measure over the starts, one for each method.
#'
#' @param x What [ewp_compare()] returned for `methods` or `n_trials`.
#' @param measure Name of a column of `x$scores`; by default the first measure.
#' @param ... Further arguments of [graphics::boxplot()], in the place of the defaults.
#' @return `x`, invisibly.
#' @export
plot.ewp_trials <- function(x, measure = x$measures[1L], ...) {
  measure <- as_choice(measure, "measure", c(x$measures, "seconds"))
  groups <- split(x$scores[[measure]], factor(x$scores$method, rev(x$table$method)))
  local_par(mai = bar_margins(names(groups), c(4.1, 1.6, 1.6)))
  given <- with_defaults(list(...), xlab = measure, col = "#56B4E9", border = INK)
  do.call(graphics::boxplot, c(list(groups, horizontal = TRUE, las = 1, frame.plot = FALSE), given))
  invisible(x)
}
