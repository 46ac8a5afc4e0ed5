# Choosing the penalty and the number of clusters; the decisions are Python's, the accounts R's.

#' Choose the penalty without labels
#'
#' Scores penalties, and what is `"auto"` in scaling and form of the weights, by cross-validation, and
#' fits the chosen model to all rows. `ewp(lambda = "auto")` does the same and keeps the decision
#' only.
#'
#' @param x A numeric matrix or a data frame of numeric columns.
#' @param k Number of clusters.
#' @param lambda Penalties to try, in the units of a sum over all rows. By default a grid of
#'   `nlambda` penalties for every scaling and form.
#' @param criterion `"predictive"`, the log-density that held-out rows gain from the partition, over
#'   all columns; `"stability"`, the agreement between subsamples; or `"gap"`, the permutation gap.
#' @param cv Number of folds, or of replicates.
#' @param rule How to decide between close penalties: `"stable"`, `"1se"` or `"max"`. `NULL` takes the
#'   Python package's default.
#' @param nlambda Length of a grid.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @param ... Further options of [ewp()]; `scale` and `dispersion` fix what is `"auto"` by default.
#' @return A list of class `"ewp_select_lambda"`: `table` (a data frame, one row a candidate), `lambda`,
#'   `scaling` and `dispersion` of the choice, `criterion`, `unit`, `reason` (the decision in words),
#'   `complete`, `fit` (the chosen model, as from [ewp()]) and `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' chosen <- ewp_select_lambda(iris[, 1:4], 3, scale = TRUE, nlambda = 4, cv = 3, seed = 1)
#' chosen
#' plot(chosen)
#' @export
ewp_select_lambda <- function(x, k, lambda = NULL, criterion = "predictive", cv = 5, rule = NULL,
                              nlambda = 10, seed = NULL, ...) {
  call <- match.call()
  x <- as_data_matrix(x)
  if (missing(k)) stop("k is missing: give the number of clusters", call. = FALSE)
  k <- as_count(k, "k")
  options <- selection_options(x, k, lambda, criterion, cv, rule, nlambda, seed, ...)
  found <- run_python("select_lambda", x, k, options = options)
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
      fit = as_ewp(found$results, x, options$random_state, call),
      call = call
    ),
    class = c("ewp_select_lambda", "list")
  )
}

#' Choose the number of clusters without labels
#'
#' For every number the penalty is chosen as in [ewp_select_lambda()], on the same folds; then the
#' smallest number within one standard error of the best is taken.
#'
#' @inheritParams ewp_select_lambda
#' @param k Numbers of clusters to try.
#' @param rule `"1se"` takes the smallest number within one standard error of the best, `"max"` the
#'   best. `NULL` takes the Python package's default.
#' @return A list of class `"ewp_select_k"`: `table` (a data frame, one row a number), `k`,
#'   `criterion`, `unit`, `rule` (in words), `fit` (at the chosen number), `fits` (at all numbers,
#'   named) and `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' chosen <- ewp_select_k(iris[, 1:4], 2:4, scale = TRUE, nlambda = 3, cv = 3, seed = 1)
#' chosen
#' plot(chosen)
#' @export
ewp_select_k <- function(x, k, lambda = NULL, criterion = "predictive", cv = 5, rule = NULL,
                         nlambda = 10, seed = NULL, ...) {
  call <- match.call()
  x <- as_data_matrix(x)
  if (missing(k) || !is.numeric(k) || !length(k)) {
    stop("k must hold the numbers of clusters to try, such as 2:6", call. = FALSE)
  }
  ks <- sort(unique(vapply(k, as_count, 1L, "k")))
  options <- selection_options(x, NA, lambda, criterion, cv, rule, nlambda, seed, ...)
  found <- run_python("select_k", x, as.list(ks), options = options)
  table <- in_r_columns(from_frame(found$table))
  table$k <- as.integer(table$k)
  chosen <- as.integer(from_python(found$k))
  fits <- lapply(ks, function(number) {
    as_ewp(reticulate::py_get_item(found$fits, number), x, options$random_state, call)
  })
  names(fits) <- ks
  structure(
    list(
      table = table, k = chosen, criterion = from_python(found$criterion),
      unit = from_python(found$unit), rule = from_python(found$rule),
      fit = fits[[as.character(chosen)]], fits = fits, call = call
    ),
    class = c("ewp_select_k", "list")
  )
}

selection_options <- function(x, k, lambda, criterion, cv, rule, nlambda, seed, ...) {
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
      criterion = as_choice(criterion, "criterion", c("predictive", "stability", "gap")),
      cv = as_count(cv, "cv", least = 2L),
      n_lams = as_count(nlambda, "nlambda")
    ),
    # Left to Python if not given.
    if (!is.null(rule)) list(rule = as_choice(rule, "rule", c("stable", "1se", "max"))),
    python_options(x, k, seed = seed, ...)
  )
}

in_r_columns <- function(table) {
  names(table) <- sub("^lam(?=$|_)", "lambda", names(table), perl = TRUE)
  if (!is.null(table$replicates)) table$replicates <- as.integer(table$replicates)
  table
}

#' @export
print.ewp_select_lambda <- function(x, digits = 4L, ...) {
  cat("Selection of lambda, ", x$criterion, " criterion\n\n", sep = "")
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
  cat("Selection of the number of clusters, ", x$criterion, " criterion\n\n", sep = "")
  table <- x$table
  table[[" "]] <- ifelse(table$k == x$k, "<- chosen", "")
  print(rounded(table, digits), row.names = FALSE)
  cat("\nk = ", x$k, ": ", x$rule, ".\nmean: ", x$unit, ".\n", sep = "")
  invisible(x)
}

#' Plot a selection
#'
#' The criterion, with its standard error, against the penalty a row or the number of clusters; the
#' choice is ringed. Hollow points were given up after their first replicates.
#'
#' @param x What [ewp_select_lambda()] or [ewp_select_k()] returned.
#' @param main,xlab,ylab Title and labels of the axes.
#' @param ... Further graphical parameters, handed to [graphics::plot.default()].
#' @return `x`, invisibly.
#' @export
plot.ewp_select_lambda <- function(x, main = NULL, xlab = expression("penalty a row, " * lambda / n),
                                   ylab = x$unit, ...) {
  table <- x$table[is.finite(x$table$mean), ]
  family <- family_name(table$scaling, table$dispersion)
  families <- unique(family)
  colour <- PALETTE[match(family, families)]
  at <- table$lambda_per_row
  full <- table$replicates == max(table$replicates)
  error <- ifelse(full & is.finite(table$se), table$se, 0)
  graphics::plot(range(at), range(table$mean - error, table$mean + error), log = "x", type = "n",
                 xaxt = "n", main = main, xlab = xlab, ylab = ylab, bty = "n", las = 1, ...)
  ticks <- 10^seq(ceiling(log10(min(at))), floor(log10(max(at))))
  if (max(at) < 100 * min(at)) ticks <- graphics::axTicks(1)
  graphics::axis(1, at = ticks, labels = formatC(ticks, digits = 3, format = "fg"))
  for (name in families) {
    graphics::lines(at[family == name], table$mean[family == name],
                    col = grDevices::adjustcolor(PALETTE[match(name, families)], 0.5))
  }
  error_bars(at, table$mean, error, grDevices::adjustcolor(colour, 0.5))
  graphics::points(at, table$mean, pch = 21, col = colour, bg = ifelse(full, colour, "white"), cex = 0.9)
  chosen <- which(is_chosen(x)[is.finite(x$table$mean)])
  graphics::points(at[chosen], table$mean[chosen], cex = 2.4, lwd = 1.5, col = INK)
  graphics::legend(
    "bottomright", legend = c(families, "chosen"), bty = "n", inset = 0.02,
    pch = c(rep(19, length(families)), 1), col = c(PALETTE[seq_along(families)], INK)
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
plot.ewp_select_k <- function(x, main = NULL, xlab = "number of clusters", ylab = x$unit, ...) {
  table <- x$table
  error <- ifelse(is.finite(table$se), table$se, 0)
  graphics::plot(table$k, table$mean, type = "n", xaxt = "n", main = main, xlab = xlab, ylab = ylab, bty = "n",
                 las = 1, ylim = range(table$mean - error, table$mean + error), ...)
  graphics::axis(1, at = table$k)
  graphics::lines(table$k, table$mean, col = PALETTE[1L])
  error_bars(table$k, table$mean, error, PALETTE[1L])
  graphics::points(table$k, table$mean, pch = 19, col = PALETTE[1L])
  chosen <- table$k == x$k
  graphics::points(table$k[chosen], table$mean[chosen], cex = 2.6, lwd = 1.5, col = INK)
  invisible(x)
}
