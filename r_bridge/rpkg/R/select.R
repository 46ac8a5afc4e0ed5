# Choosing the penalty and the number of clusters; the decisions are Python's, the accounts R's.

#' Choose the penalty without labels
#'
#' Scores penalties, and what is `"auto"` in scaling and form of the weights, by cross-validation, and
#' fits the chosen model to all rows. `ewp(lambda = "auto")` does the same and keeps the decision
#' only.
#'
#' @param x A numeric matrix or a data frame of numeric columns.
#' @param formula,data A formula without a response, and the data frame in which it is evaluated, in
#'   the place of `x`.
#' @param centers,k Number of clusters; two names of one argument.
#' @param lambda Penalties to try, in the units of a sum over all rows. By default a grid of
#'   `nlambda` penalties for every scaling and form.
#' @param criterion `"predictive"`, the log-density that held-out rows gain from the partition, over
#'   all columns; `"stability"`, the agreement between subsamples; `"gap"`, the permutation gap; or
#'   `"strength"`, the prediction strength, which is meant for [ewp_select_k()].
#' @param cv Number of folds, or of replicates.
#' @param rule How to decide between close penalties: `"stable"`, `"1se"` or `"max"`. `NULL` takes the
#'   Python package's default.
#' @param nlambda Length of a grid.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @param subset,na.action Which rows to use, and what to do about missing values: see [ewp()].
#' @param ... Further options of [ewp()]; `scale` and `dispersion` fix what is `"auto"` by default, `weights` says
#'   whose feature weights are (not with `criterion = "gap"`, for which they are common).
#'   For the method for formulas also the ones above.
#' @return A list of class `"ewp_select_lambda"`: `table` (a data frame, one row per candidate), `lambda`,
#'   `scaling` and `dispersion` of the choice, `criterion`, `unit`, `reason` (the decision in words),
#'   `complete`, `fit` (the chosen model, as from [ewp()]) and `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' chosen <- ewp_select_lambda(iris[, 1:4], 3, scale = TRUE, nlambda = 4, cv = 3, seed = 1)
#' chosen
#' plot(chosen)
#' @export
ewp_select_lambda <- function(x, ...) {
  UseMethod("ewp_select_lambda")
}

#' @rdname ewp_select_lambda
#' @export
ewp_select_lambda.default <- function(x, centers, lambda = NULL, criterion = "predictive", cv = 5,
                                 rule = NULL, nlambda = 10, seed = NULL, subset, na.action = NULL,
                                 ..., k) {
  call <- call_of("ewp_select_lambda", match.call())
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), x, parent.frame())
  rows <- default_rows(x, chosen, na.action, whole = needs_whole_rows(...))
  select_lambda(rows, centers, lambda, criterion, cv, rule, nlambda, seed, ..., call = call)
}

#' @rdname ewp_select_lambda
#' @export
ewp_select_lambda.formula <- function(formula, data = NULL, centers, ..., subset, na.action = NULL, k) {
  call <- call_of("ewp_select_lambda", match.call())
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), data, environment(formula))
  rows <- formula_rows(formula, data, chosen, na.action, whole = needs_whole_rows(...))
  select_lambda(rows, centers, ..., call = call)
}

select_lambda <- function(rows, k, lambda = NULL, criterion = "predictive", cv = 5, rule = NULL,
                          nlambda = 10, seed = NULL, ..., call) {
  k <- as_count(k, "k")
  options <- selection_options(rows, k, lambda, criterion, cv, rule, nlambda, seed, ...)
  found <- run_python("select_lambda", rows$x, k, options = options)
  table <- in_r_columns(from_frame(found$table))
  structure(
    list(
      table = table,
      lambda = from_python(found$lam),
      scaling = from_python(found$scaling),
      dispersion = from_python(found$dispersion),
      criterion = from_python(found$criterion),
      unit = from_python(found$unit),
      reason = from_python(found$reason),
      complete = from_python(found$complete),
      fit = as_ewp(found$results, rows, options$random_state, call),
      call = call
    ),
    class = c("ewp_select_lambda", "list")
  )
}

#' Choose the number of clusters without labels
#'
#' For every number the penalty is chosen as in [ewp_select_lambda()], on the same folds; then the
#' smallest number within one standard error of the best is taken. A number competes only if its clusters
#' are separated: held-out rows of every cluster and the one next to it have to be better described as two
#' clusters than as one. Where held-out rows speak for more than one cluster at no number, the number is one, if
#' that was tried.
#' With `criterion = "strength"` it is the largest number whose prediction strength is at least 0.8
#' (Tibshirani and Walther 2005).
#'
#' @inheritParams ewp_select_lambda
#' @param ks,centers,k Numbers of clusters to try; three names of one argument.
#' @param rule `"1se"` takes the smallest number within one standard error of the best, `"max"` the
#'   best. `NULL` takes the Python package's default.
#' @return A list of class `"ewp_select_k"`: `table` (a data frame, one row per number: `k`, the penalty chosen
#'   for it with `scaling` and `dispersion`, `mean` and `se` of the criterion, `lead` of the best
#'   number over it and the standard error `se_lead` of this difference, and with the predictive
#'   criterion `evidence`, whether held-out rows speak for more than one cluster, and `separation`, what the two
#'   clusters that are separated least gain over one in their place), `k`,
#'   `evidence` (whether they do at any number; `NULL` for other criteria), `criterion`, `unit`, `rule` (in
#'   words), `fit` (at the chosen number), `fits` (at all numbers, named), `complete` and `call`. It can
#'   be printed and plotted.
#' @examplesIf ewp_available()
#' chosen <- ewp_select_k(iris[, 1:4], 1:4, scale = TRUE, nlambda = 3, cv = 3, seed = 1)
#' chosen
#' plot(chosen)
#' @export
ewp_select_k <- function(x, ...) {
  UseMethod("ewp_select_k")
}

#' @rdname ewp_select_k
#' @export
ewp_select_k.default <- function(x, ks = 1:8, lambda = NULL, criterion = "predictive", cv = 5,
                                 rule = NULL, nlambda = 10, seed = NULL, subset, na.action = NULL,
                                 ..., centers, k) {
  call <- call_of("ewp_select_k", match.call())
  ks <- numbers_to_try(ks, centers, k, stated = !missing(ks))
  chosen <- if (!missing(subset)) subset_of(substitute(subset), x, parent.frame())
  rows <- default_rows(x, chosen, na.action, whole = needs_whole_rows(...))
  select_k(rows, ks, lambda, criterion, cv, rule, nlambda, seed, ..., call = call)
}

#' @rdname ewp_select_k
#' @export
ewp_select_k.formula <- function(formula, data = NULL, ks = 1:8, ..., subset, na.action = NULL, centers,
                                 k) {
  call <- call_of("ewp_select_k", match.call())
  ks <- numbers_to_try(ks, centers, k, stated = !missing(ks))
  chosen <- if (!missing(subset)) subset_of(substitute(subset), data, environment(formula))
  rows <- formula_rows(formula, data, chosen, na.action, whole = needs_whole_rows(...))
  select_k(rows, ks, ..., call = call)
}

select_k <- function(rows, ks, lambda = NULL, criterion = "predictive", cv = 5, rule = NULL,
                     nlambda = 10, seed = NULL, ..., call) {
  if (!is.numeric(ks) || !length(ks)) {
    stop("ks must hold the numbers of clusters to try, such as 1:6", call. = FALSE)
  }
  ks <- sort(unique(vapply(ks, as_count, 1L, "ks")))
  options <- selection_options(rows, NA, lambda, criterion, cv, rule, nlambda, seed, ...)
  found <- run_python("select_k", rows$x, as.list(ks), options = options)
  table <- in_r_columns(from_frame(found$table))
  table$k <- as.integer(table$k)
  chosen <- as.integer(from_python(found$k))
  # An interrupted selection has fewer than were asked for.
  fits <- lapply(table$k, function(number) {
    as_ewp(reticulate::py_get_item(found$fits, number), rows, options$random_state, call)
  })
  names(fits) <- table$k
  structure(
    list(
      table = table, k = chosen, evidence = if (!is.null(table$evidence)) any(table$evidence),
      criterion = from_python(found$criterion), unit = from_python(found$unit),
      rule = from_python(found$rule), fit = fits[[as.character(chosen)]], fits = fits,
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_select_k", "list")
  )
}

selection_options <- function(rows, k, lambda, criterion, cv, rule, nlambda, seed, ...) {
  refuse_unnamed(...)
  if (!is.null(lambda)) {
    if (!is.numeric(lambda) || !length(lambda) || !all(is.finite(lambda)) || any(lambda <= 0)) {
      stop("lambda = ", shown(lambda), " must be positive numbers, or NULL for a grid",
           call. = FALSE)
    }
    lambda <- as.array(as.double(lambda))
  }
  c(
    list(
      lams = lambda,
      criterion = as_choice(criterion, "criterion", c("predictive", "stability", "gap", "strength")),
      cv = as_count(cv, "cv", least = 2L),
      n_lams = as_count(nlambda, "nlambda")
    ),
    # Left to Python if not given.
    if (!is.null(rule)) list(rule = as_choice(rule, "rule", c("stable", "1se", "max"))),
    python_options(rows, k, seed = seed, ...)
  )
}

in_r_columns <- function(table) {
  names(table) <- sub("^lam(?=$|_)", "lambda", names(table), perl = TRUE)
  if (!is.null(table$replicates)) table$replicates <- as.integer(table$replicates)
  table
}

#' @export
print.ewp_select_lambda <- function(x, digits = 4L, ...) {
  cat("Selection of lambda, ", x$criterion, " criterion\n", sep = "")
  if (lacks_evidence(x$fit)) cat(verdict_line(x$fit))
  cat("\n")
  columns <- c("scaling", "dispersion", "lambda", "mean", "se", "effective_features", "stability",
               "replicates")
  table <- x$table[intersect(columns, names(x$table))]
  names(table)[names(table) == "effective_features"] <- "features"
  names(table)[names(table) == "dispersion"] <- "form"
  table[[" "]] <- ifelse(is_chosen(x), "<- chosen", "")
  print(rounded(table, digits), row.names = FALSE)
  cat("\n", paste0(strwrap(c(x$reason, paste0("mean: ", x$unit, ".")), exdent = 2L), "\n"), sep = "")
  invisible(x)
}

is_chosen <- function(x) {
  x$table$scaling == x$scaling & x$table$dispersion == x$dispersion &
    abs(x$table$lambda - x$lambda) <= 1e-8 * x$lambda
}

rounded <- function(table, digits) {
  number <- vapply(table, is.double, NA)
  table[number] <- lapply(table[number], function(column) {
    ifelse(is.na(column), "", sprintf("%.*g", digits, column))
  })
  table
}

#' @export
print.ewp_select_k <- function(x, digits = 4L, ...) {
  cat("Selection of the number of clusters, ", x$criterion, " criterion",
      if (isFALSE(x$evidence)) paste0(": ", NO_CLUSTERS), "\n\n", sep = "")
  table <- x$table
  if (!is.null(table$evidence)) table$evidence <- ifelse(table$evidence, "yes", "no")
  table[[" "]] <- ifelse(table$k == x$k, "<- chosen", "")
  print(rounded(table, digits), row.names = FALSE)
  cat("\n", paste0(strwrap(select_k_notes(x), exdent = 2L), "\n"), sep = "")
  invisible(x)
}

select_k_notes <- function(x) {
  tried <- x$table$k
  c(
    sprintf("k = %d: %s.", x$k, x$rule),
    sprintf("mean: %s.", x$unit),
    if ("lead" %in% names(x$table)) {
      paste("lead: mean score of the best number that competes minus that of this one, compared row by row where",
            "rows are scored; se_lead: standard error of this difference.")
    },
    if (!is.null(x$evidence)) {
      paste("evidence: whether held-out rows speak for more than one cluster, that is, whether their gain is more",
            "than two standard errors (corrected for fits that share most of their rows) above what k parts of a",
            "single box-shaped cluster gain at most, 0.0759 log2(k). Without it at any number, k = 1.")
    },
    if ("separation" %in% names(x$table)) {
      paste("separation: log-density that held-out rows of two clusters gain over one cluster in their place, for",
            "the two that are separated least. Numbers compete whose clusters gain more than 0.038: halves of an",
            "ellipsoid gain nothing, those of a box twice as much, and two normal clusters as much if their centres",
            "are 2.65 standard deviations apart.")
    },
    if (isFALSE(x$evidence)) paste0("There is ", NO_CLUSTERS, "."),
    if (length(tried) > 1L && x$k == max(tried)) {
      sprintf("%d is the largest number that was tried: more may be better.", x$k)
    },
    if (x$k > 1L && x$k == min(tried)) {
      sprintf("%d is the smallest number that was tried: fewer may be better.", x$k)
    },
    if (isFALSE(x$complete)) "The selection was interrupted: finished numbers only."
  )
}

#' Plot a selection
#'
#' The criterion, with its standard error, against the penalty per row or the number of clusters; the
#' choice is ringed. Hollow points were not scored further after their first replicates.
#'
#' @param x What [ewp_select_lambda()] or [ewp_select_k()] returned.
#' @param ... Graphical parameters, handed to [graphics::plot.default()] in the place of the
#'   defaults: `main`, `xlab`, `ylim`, `cex`, `col` and so on.
#' @return `x`, invisibly.
#' @export
plot.ewp_select_lambda <- function(x, ...) {
  table <- x$table[is.finite(x$table$mean), ]
  if (!nrow(table)) stop("there were too few rows to score anything: nothing to draw", call. = FALSE)
  family <- family_name(table$scaling, table$dispersion)
  families <- unique(family)
  given <- list(...)
  colours <- rep_len(given_or(given$col, PALETTE), length(families))
  colour <- colours[match(family, families)]
  size <- given_or(given$cex, 1)
  at <- table$lambda_per_row
  full <- table$replicates == max(table$replicates)
  error <- ifelse(full & is.finite(table$se), table$se, 0)
  draw_frame(range(at), range(table$mean - error, table$mean + error), given, log = "x", xaxt = "n",
             xlab = expression("penalty per row, " * lambda / n), ylab = x$unit)
  ticks <- 10^seq(ceiling(log10(min(at))), floor(log10(max(at))))
  if (max(at) < 100 * min(at)) ticks <- graphics::axTicks(1)
  graphics::axis(1, at = ticks, labels = formatC(ticks, digits = 3, format = "fg"))
  for (i in seq_along(families)) {
    own <- family == families[i]
    graphics::lines(at[own], table$mean[own], col = grDevices::adjustcolor(colours[i], 0.5))
  }
  error_bars(at, table$mean, error, grDevices::adjustcolor(colour, 0.5))
  graphics::points(at, table$mean, pch = 21, col = colour, bg = ifelse(full, colour, "white"),
                   cex = 0.9 * size)
  chosen <- which(is_chosen(x)[is.finite(x$table$mean)])
  graphics::points(at[chosen], table$mean[chosen], cex = 2.4 * size, lwd = 1.5, col = INK)
  graphics::legend(
    "bottomright", legend = c(families, "chosen"), bty = "n", inset = 0.02,
    pch = c(rep(19, length(families)), 1), col = c(colours, INK)
  )
  invisible(x)
}

error_bars <- function(x, y, error, col) {
  bars <- error > 0
  col <- rep_len(col, length(x))
  graphics::segments(x[bars], (y - error)[bars], x[bars], (y + error)[bars], col = col[bars])
}

#' @rdname plot.ewp_select_lambda
#' @export
plot.ewp_select_k <- function(x, ...) {
  table <- x$table
  given <- list(...)
  colour <- given_or(given$col, PALETTE[1L])
  size <- given_or(given$cex, 1)
  error <- ifelse(is.finite(table$se), table$se, 0)
  draw_frame(range(table$k), range(table$mean - error, table$mean + error, na.rm = TRUE), given,
             xaxt = "n", xlab = "number of clusters", ylab = x$unit)
  graphics::axis(1, at = table$k)
  graphics::lines(table$k, table$mean, col = colour)
  error_bars(table$k, table$mean, error, colour)
  graphics::points(table$k, table$mean, pch = 19, col = colour, cex = size)
  chosen <- table$k == x$k
  graphics::points(table$k[chosen], table$mean[chosen], cex = 2.6 * size, lwd = 1.5, col = INK)
  invisible(x)
}
