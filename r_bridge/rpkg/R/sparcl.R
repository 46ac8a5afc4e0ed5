# A fit in the form that code written for the package sparcl reads.

#' A fit as sparcl's sparse k-means returns it
#'
#' The package sparcl's `KMeansSparseCluster()` returns a list with one element for every bound, each
#' with weights `ws` of Euclidean length 1 and clusters `Cs`. This view of a fit has one element.
#'
#' @param object A fit made by [ewp()].
#' @param x What `as_sparcl()` returned.
#' @param top Number of columns to draw.
#' @param ... For `plot()`, further arguments of [graphics::barplot()].
#' @return A list of class `"ewp_sparcl"` with one element, which `$` reaches directly: `ws`, the
#'   weights divided by their Euclidean length; `Cs`, the clusters; `wcss` with the sums of squares
#'   within (`wcss.perfeature`, weighted total `wcss.ws`) and between (`bcss.perfeature`) the
#'   clusters for every column; `crit`, the weighted sum of squares between the clusters, sparcl's
#'   criterion; and `wbound`, the sum of `ws`: the bound at which sparcl's constraint would just
#'   hold. Columns are scaled as in the fit.
#' @examplesIf ewp_available()
#' view <- as_sparcl(ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1))
#' view$ws
#' sum(view[[1]]$ws^2)
#' plot(view)
#' @export
as_sparcl <- function(object) {
  if (!inherits(object, "ewp")) {
    stop("as_sparcl() takes a fit made by ewp(), not an object of class ", class(object)[1L],
         call. = FALSE)
  }
  stop_unless_squared(object, "as_sparcl()")
  stop_unless_common(object, "as_sparcl()")
  metric <- object$metric
  ws <- object$weights / sqrt(sum(object$weights^2))
  between <- colSums(metric$mass * columns_of(object, object$centers)^2)
  total <- sum(metric$mass) * column_variances(object)
  within <- pmax(total - between, 0)
  view <- list(
    ws = ws,
    Cs = object$cluster,
    wcss = list(
      wcss.perfeature = within, wcss.ws = sum(ws * within), bcss.perfeature = between
    ),
    crit = sum(ws * between),
    wbound = sum(ws)
  )
  structure(list(view), class = c("ewp_sparcl", "list"))
}

#' @export
`$.ewp_sparcl` <- function(x, name) .subset2(x, 1L)[[name]]

#' @export
print.ewp_sparcl <- function(x, ...) {
  cat("EWP as sparse k-means: wbound ", format(x$wbound), ", ", sum(x$ws > 1e-8),
      " features with weight\n\nws:\n", sep = "")
  print(x$ws, ...)
  cat("\nCs:\n")
  print(x$Cs, ...)
  invisible(x)
}

#' @rdname as_sparcl
#' @export
plot.ewp_sparcl <- function(x, top = 20L, ...) {
  order <- rev(utils::head(order(-x$ws), as_count(top, "top")))
  draw_bars(unname(x$ws[order]), shorten(names(x$ws)[order]), list(...), col = PALETTE[3L],
            xlab = "weight ws, of Euclidean length 1")
  invisible(x)
}
