# Which columns help to tell the clusters apart, given the other columns, by tests that Python computes.

#' Test the columns
#'
#' Tests for every column whether it helps to tell the clusters apart, given the other columns.
#' The null hypothesis: given the other columns, the column scatters about a linear function of them in the
#' same way whatever they are, and with one mode. It holds for noise, also where it is correlated with other
#' columns, and for all columns of a cloud without clusters; a small p-value speaks against it.
#' The clusters are found without the column; whether its mean or its spread, given the others, differs
#' between them, and whether it has more than one mode, is tested. Everything is conditional on the number
#' of clusters, the penalty, the scaling and the form of the weights.
#'
#' @inheritParams ewp_bootstrap
#' @param n_groups Number of groups of columns that are left out together; up to as many columns are left
#'   out one by one.
#' @param ... Options that only the Python package knows.
#' @return A list of class `"ewp_test_features"`: the data frame `table` (one row per column: `feature`,
#'   `weight` in the fit, `partial_r2` (the share that the clusters explain of its variance about a linear
#'   function of the other columns), `p_means`, `p_spreads` and `p_modes`, `p_value`, which joins them, and
#'   the latter adjusted by Holm, `p_holm`, and by Benjamini and Hochberg, `p_bh`; `NA` for columns that
#'   cannot be tested), `n_groups`, `complete`, `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' found <- ewp_simulation2(3, n = 200, p = 6, n_relevant = 3, seed = 1)
#' fit <- ewp(found$x, 3, lambda = 10, seed = 1)
#' ewp_test_features(fit, found$x, seed = 1)
#' @export
ewp_test_features <- function(object, x, n_groups = 50, seed = NULL, n_jobs = NULL, progress = FALSE,
                              ...) {
  call <- call_of("ewp_test_features", match.call())
  x <- fitted_rows(object, x)
  stop_unless_common(object, "ewp_test_features()")
  options <- c(
    list(n_groups = as_count(n_groups, "n_groups", least = 2L)),
    resampling_options(seed, n_jobs, progress), list(...)
  )
  found <- diagnose("test_features", object, x, options)
  structure(
    list(
      table = cbind(feature = names(object$weights), from_frame(found$table)),
      n_groups = as.integer(from_python(found$n_groups)),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_test_features", "list")
  )
}

#' @export
print.ewp_test_features <- function(x, top = 10L, digits = 3L, ...) {
  cat("Does the column help to tell the clusters apart, given the others?",
      if (!x$complete) " (interrupted)", "\n\n", sep = "")
  table <- x$table[order(x$table$p_value, -x$table$weight), ]
  print(rounded(utils::head(table, top), digits), row.names = FALSE)
  tested <- sum(!is.na(table$p_value))
  notes <- c(
    sprintf("%d of %d tested columns have a p-value of at most 0.05 after Benjamini and Hochberg, %d after Holm.",
            sum(table$p_bh <= 0.05, na.rm = TRUE), tested, sum(table$p_holm <= 0.05, na.rm = TRUE)),
    paste("Null hypothesis: given the other columns, this one scatters about a linear function of them in",
          "the same way whatever they are, and with one mode. A small p-value speaks against it.")
  )
  more <- nrow(table) - top
  if (more > 0L) notes <- c(sprintf("%s more are not listed.", counted(more, "column")), notes)
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot tests of the columns
#'
#' The p-value of every column, on a logarithmic scale; filled points are significant at 5 % after
#' Benjamini and Hochberg. P-values below 1e-10 are drawn there.
#'
#' @param x What [ewp_test_features()] returned.
#' @param top Number of columns to draw, heaviest first.
#' @param ... Graphical parameters, handed to [graphics::plot.default()] in the place of the defaults.
#' @return `x`, invisibly.
#' @export
plot.ewp_test_features <- function(x, top = 20L, ...) {
  table <- utils::head(x$table[order(-x$table$weight), ], as_count(top, "top"))
  table <- table[rev(seq_len(nrow(table))), ]
  given <- list(...)
  labels <- shorten(table$feature)
  at <- seq_len(nrow(table))
  colour <- given_or(given$col, PALETTE[1L])
  local_par(mai = bar_margins(labels, c(4.1, if (is.null(given$main)) 1.1 else 4.1, 1.6)))
  size <- -log10(pmax(table$p_value, 1e-10))
  draw_frame(c(0, max(size, 2, na.rm = TRUE)), range(at) + c(-0.5, 0.5), given, yaxt = "n", ylab = "",
             xlab = "minus the decimal logarithm of the p-value, given the other columns")
  graphics::axis(2, at = at, labels = labels, las = 1, tick = FALSE)
  graphics::abline(v = -log10(0.05), lty = 3, col = INK)
  hit <- !is.na(table$p_bh) & table$p_bh <= 0.05
  graphics::points(size, at, pch = 21, col = colour, bg = ifelse(hit, colour, "white"),
                   cex = given_or(given$cex, 1.2))
  invisible(x)
}
