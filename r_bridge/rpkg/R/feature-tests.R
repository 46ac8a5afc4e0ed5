# Which columns take part in the clusters of the others, by permutation tests that Python computes.

#' Test the columns
#'
#' Tests for every column whether it takes part in the clusters of the others: the clusters are found
#' without it, and the weight that they give it is compared with what they would give it if its values
#' were permuted. The null hypothesis is that the column is independent of all others. Everything is
#' conditional on the number of clusters, the penalty, the scaling and the form of the weights.
#'
#' @inheritParams ewp_bootstrap
#' @param n_perm Number of permutations. `NULL` takes enough for Holm's adjustment.
#' @param n_groups Number of groups of columns that are left out together.
#' @param ... Options that only the Python package knows.
#' @return A list of class `"ewp_test_features"`: the data frame `table` (one row per column: `feature`,
#'   `weight` in the fit, `earned` (the weight that the clusters of the other columns give it),
#'   `permuted` (its median when the column is permuted), `p_value`, and the p-values adjusted by Holm,
#'   `p_holm`, and by Benjamini and Hochberg, `p_bh`; `NA` for columns that cannot be tested),
#'   `n_perm`, `n_groups`, `complete`, `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' found <- ewp_simulation2(3, n = 200, p = 6, n_relevant = 3, seed = 1)
#' fit <- ewp(found$x, 3, lambda = 10, seed = 1)
#' ewp_test_features(fit, found$x, n_perm = 199, seed = 1)
#' @export
ewp_test_features <- function(object, x, n_perm = NULL, n_groups = 20, seed = NULL, n_jobs = NULL,
                              progress = FALSE, ...) {
  call <- call_of("ewp_test_features", match.call())
  x <- fitted_rows(object, x)
  options <- c(
    list(n_perm = if (!is.null(n_perm)) as_count(n_perm, "n_perm"),
         n_groups = as_count(n_groups, "n_groups", least = 2L)),
    resampling_options(seed, n_jobs, progress), list(...)
  )
  found <- diagnose("test_features", object, x, options)
  structure(
    list(
      table = cbind(feature = names(object$weights), from_frame(found$table)),
      n_perm = as.integer(from_python(found$n_perm)),
      n_groups = as.integer(from_python(found$n_groups)),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_test_features", "list")
  )
}

#' @export
print.ewp_test_features <- function(x, top = 10L, digits = 3L, ...) {
  cat("Permutation tests of the columns of an EWP fit, ", x$n_perm, " permutations",
      if (!x$complete) ", interrupted", "\n\n", sep = "")
  table <- x$table[order(x$table$p_value, -x$table$weight), ]
  print(rounded(utils::head(table, top), digits), row.names = FALSE)
  tested <- sum(!is.na(table$p_value))
  notes <- c(
    sprintf("%d of %d tested columns have a p-value of at most 0.05 after Benjamini and Hochberg, %d after Holm.",
            sum(table$p_bh <= 0.05, na.rm = TRUE), tested, sum(table$p_holm <= 0.05, na.rm = TRUE)),
    "Null hypothesis: the column is independent of all the others."
  )
  more <- nrow(table) - top
  if (more > 0L) notes <- c(sprintf("%s more are not listed.", counted(more, "column")), notes)
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot tests of the columns
#'
#' The weight that every column earns from the clusters of the others (point), and what it earns when
#' it is permuted (cross); filled points are significant at 5 % after Benjamini and Hochberg.
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
  largest <- max(table$earned, table$permuted, 0, na.rm = TRUE)
  draw_frame(c(0, largest), range(at) + c(-0.5, 0.5), given, yaxt = "n", ylab = "",
             xlab = "weight given by the clusters of the other columns")
  graphics::axis(2, at = at, labels = labels, las = 1, tick = FALSE)
  graphics::segments(table$permuted, at, table$earned, at, col = "#BBBBBB", lwd = 2)
  graphics::points(table$permuted, at, pch = 4, col = INK)
  hit <- !is.na(table$p_bh) & table$p_bh <= 0.05
  graphics::points(table$earned, at, pch = 21, col = colour, bg = ifelse(hit, colour, "white"),
                   cex = given_or(given$cex, 1.2))
  invisible(x)
}
