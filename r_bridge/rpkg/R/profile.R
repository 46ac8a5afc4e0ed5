# The first table of a paper: what Python says of the clusters column by column, in R's numbers and words.

#' Describe the clusters column by column
#'
#' Sizes, means with standard deviations, or counts of values, in every cluster and in all rows; beside them
#' how far the clusters differ, and the weight. The standardised difference of two clusters is the difference of
#' their means divided by the root of the mean of their variances (Austin 2009); that of the two that differ
#' most is given. It describes: the clusters were made to differ, so an ordinary test of these differences is
#' not valid.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param counted Names of columns whose values are counted, one row per value, at most 20 values each. By
#'   default the columns with two different values, of which the larger one is counted.
#' @param differences What [ewp_test_differences()] returned for this fit, for a column of p-values that
#'   allow for the clusters' being found.
#' @return A list of class `"ewp_profile"`, which can be printed:
#' \item{table}{A data frame, one row per column, the heaviest first, or per value of a column that is
#'   counted: `feature`, `statistic` (`"mean"` or `"count"`), `value` (the one that is counted), `mean` and
#'   `sd` over all rows, `mean_1`, `sd_1` and so on in the clusters, `difference`, the largest standardised
#'   one, and `between` which two clusters it is, `weight`, and with `differences` the `p_value`: the smallest
#'   of the pairs of clusters, times the number of pairs. Where values are missing all figures are of those
#'   that are there, whose numbers are `observed`, `observed_1` and so on. Of a value that is counted the mean is its share of
#'   the rows, and the number of rows is `count`, `count_1` and so on.}
#' \item{clusters}{A data frame, one row per cluster: `cluster`, `size` (rows), `mass` (sum of their weights),
#'   `share` of the mass.}
#' \item{scaling}{What was done to the columns in the fit; the figures here are in the units of the data.}
#' \item{weighted}{Whether rows have weights other than one, which means and counts then count.}
#' \item{by_cluster}{Whether every cluster has feature weights of its own; `weight` is their mean, by mass, then.}
#' \item{call}{The call.}
#' @references
#' Austin, P. C. (2009). Balance diagnostics for comparing the distribution of baseline covariates between
#' treatment groups in propensity-score matched samples. *Statistics in Medicine* 28, 3083--3107.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' ewp_profile(fit, iris)
#' @export
ewp_profile <- function(object, x, counted = NULL, differences = NULL) {
  call <- call_of("ewp_profile", match.call())
  x <- fitted_rows(object, x)
  if (!is.null(differences) && !inherits(differences, "ewp_test_differences")) {
    stop("differences is not what ewp_test_differences() returned but of class ", class(differences)[1L],
         call. = FALSE)
  }
  found <- diagnose("profile", object, x,
                    list(counted = as_columns(counted, "counted", feature_names(object))))
  table <- from_frame(found$table, index = "feature")
  # Clusters count from 1.
  of_cluster <- grepl("^(mean|sd|count|observed)_[0-9]+$", names(table))
  names(table)[of_cluster] <- plus_one(names(table)[of_cluster])
  table$between <- plus_one(table$between)
  if (!is.null(differences)) table$p_value <- smallest_p(differences, table$feature)
  clusters <- from_frame(found$clusters)
  clusters <- data.frame(cluster = seq_len(nrow(clusters)), size = as.integer(clusters$size),
                         mass = clusters$mass, share = clusters$share)
  structure(
    list(
      table = table, clusters = clusters, scaling = from_python(found$scaling),
      weighted = from_python(found$weighted), by_cluster = by_cluster(object), call = call
    ),
    class = c("ewp_profile", "list")
  )
}

# Of every column the smallest p-value of the pairs of clusters, times their number.
smallest_p <- function(differences, features) {
  table <- differences$table
  vapply(features, function(feature) {
    own <- table$p_value[table$feature == feature]
    own <- own[!is.na(own)]
    if (length(own)) min(length(own) * min(own), 1) else NA_real_
  }, 0, USE.NAMES = FALSE)
}

# Numbers in texts, each larger by one.
plus_one <- function(text) {
  found <- gregexpr("[0-9]+", text)
  regmatches(text, found) <- lapply(regmatches(text, found), function(own) {
    as.character(as.integer(own) + 1L)
  })
  text
}

#' @export
print.ewp_profile <- function(x, top = 20L, ...) {
  top <- as_count(top, "top")
  cat("Profile of the clusters\n\n")
  features <- unique(x$table$feature)
  table <- x$table[x$table$feature %in% utils::head(features, top), ]
  places <- c("", paste0("_", x$clusters$cluster))
  digits <- profile_digits(table[paste0("sd", places)])
  cells <- lapply(places, function(place) profile_cells(table, place, digits))
  sizes <- c(format(sum(x$clusters$mass)),
             sprintf("%s (%s)", vapply(x$clusters$mass, format, ""), as_percent(x$clusters$share)))
  cells <- Map(c, sizes, cells)
  names(cells) <- c("all rows", paste("cluster", x$clusters$cluster))
  if (nrow(x$clusters) > 1L) {
    cells$difference <- c("", ifelse(
      is.na(table$difference), "", sprintf("%.2f (%s)", table$difference, sub(", ", " vs ", table$between))
    ))
  }
  cells$weight <- c("", format(round(table$weight, 4L), nsmall = 4L))
  if (!is.null(table$p_value)) cells$p <- c("", ifelse(is.na(table$p_value), "--", sprintf("%.2g", table$p_value)))
  shown <- as.data.frame(cells, check.names = FALSE, stringsAsFactors = FALSE)
  counted <- table$statistic == "count"
  shown <- cbind(c("rows", ifelse(counted, paste(table$feature, "=", table$value), table$feature)), shown)
  names(shown)[1L] <- " "
  print(shown, row.names = FALSE)
  cat("\n", paste0(strwrap(profile_notes(x, table, length(features) - top), exdent = 2L), "\n"), sep = "")
  invisible(x)
}

as_percent <- function(share) sprintf("%.1f %%", 100 * share)

# Decimals of a line that show two digits of its median standard deviation.
profile_digits <- function(sds) {
  apply(as.matrix(sds), 1L, function(own) {
    own <- own[is.finite(own) & own > 0]
    if (length(own)) as.integer(min(max(1 - floor(log10(stats::median(own))), 0), 6)) else 0L
  })
}

# Means with standard deviations, or counts with shares.
profile_cells <- function(table, place, digits) {
  mean <- table[[paste0("mean", place)]]
  sd <- table[[paste0("sd", place)]]
  fixed <- function(value) {
    shown <- ifelse(is.finite(value), sprintf("%.*f", digits, value), "--")
    sub("^-(0(\\.0*)?)$", "\\1", shown)
  }
  counts <- table[[paste0("count", place)]]
  ifelse(table$statistic == "count",
         sprintf("%s (%s)", vapply(counts, format, ""), as_percent(mean)),
         sprintf("%s (%s)", fixed(mean), fixed(sd)))
}

profile_notes <- function(x, table, hidden) {
  c(
    if ("mean" %in% table$statistic) "Means (standard deviations), in the units of the data.",
    if ("count" %in% table$statistic) {
      "Of columns that are counted: rows with the value (share of the cluster)."
    },
    if (nrow(x$clusters) > 1L) {
      paste("difference: of the means of the two clusters that differ most (which two), divided by the root of",
            "the mean of their variances. The clusters were made to differ: these differences describe, they",
            "test nothing.")
    },
    if (any(is.infinite(table$difference))) "Inf: the two clusters differ, and neither has any variance.",
    if (isTRUE(x$by_cluster)) "weight: mean of the weights that every cluster has of its own, by mass.",
    if (x$scaling == "standard") "Weights relate to standardised columns.",
    if (is_decorrelated(x$scaling)) "Weights relate to the part of a column that the others do not explain.",
    if (!is.null(table$p_value)) {
      paste("p: smallest selective p-value of the pairs of clusters, times the number of pairs; it allows for",
            "clusters that were found in the same data.")
    },
    if (x$weighted) "Rows are weighted: means, counts and shares count the weights.",
    if (hidden > 0L) sprintf("%s more are not listed.", counted(hidden, "column"))
  )
}
