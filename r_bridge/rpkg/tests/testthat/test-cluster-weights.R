subspaces <- local({
  found <- NULL
  function() {
    skip_without_python()
    if (is.null(found)) {
      found <<- ewp_subspaces(3, n = 150, p = 8, n_relevant = 3, seed = 0)$x
      # columns of different units, and names of rows
      found <<- sweep(found, 2L, 1:8, "*")
      dimnames(found) <<- list(paste0("row", 1:150), letters[1:8])
    }
    found
  }
})

own_fit <- local({
  fit <- NULL
  function() {
    x <- subspaces()
    if (is.null(fit)) fit <<- ewp(x, 3, lambda = 15, scale = TRUE, weights = "cluster", seed = 0)
    fit
  }
})

# Rows that no fit has seen, some far outside.
new_rows <- function() {
  set.seed(1)
  matrix(rnorm(40 * 8, sd = 12), 40, 8, dimnames = list(NULL, letters[1:8]))
}

test_that("weights are a matrix with one row per cluster, on the simplex", {
  fit <- own_fit()
  expect_identical(dimnames(fit$weights), dimnames(fit$centers))
  expect_identical(rownames(fit$weights), c("1", "2", "3"))
  expect_identical(colnames(fit$weights), letters[1:8])
  expect_equal(unname(rowSums(fit$weights)), rep(1, 3))
  expect_identical(coef(fit), fit$weights)
  expect_equal(sum(mean_weights(fit)), 1)
  expect_identical(names(mean_weights(fit)), letters[1:8])
  expect_identical(mean_weights(iris_fit()), iris_fit()$weights)
  # the price is what every row pays for the concentration of its cluster's weights
  entropy <- rowSums(fit$weights * log(8 * fit$weights))
  expect_equal(fit$metric$price, unname(15 / 150 * entropy))
  paid <- sum(fit$metric$mass * fit$metric$price)
  expect_equal(fit$objective, fit$tot.withinss + paid - 15 * log(8))
})

test_that("fits, distances and predictions are those of Python to rounding, whatever the scaling", {
  x <- subspaces()
  new <- new_rows()
  python <- function(scale, form) {
    in_python(x = rbind(x, new), c(
      "X, new = X[:150], X[150:]",
      sprintf("r = ewp.fit(X, 3, lam=%s, scale=%s, dispersion='%s', weights='cluster', random_state=0)",
              if (scale == "None") "400.0" else "15.0", scale, form),
      "show('weights', r.weights); show('centers', r.centroids); show('labels', r.labels)",
      "show('objective', r.objective); show('predict', r.predict(new)); show('distance', r.transform(new))",
      "show('of_fit', r.augment(X)['.distance']); show('effective', r.effective_features)",
      "show('totss', r.totss)"
    ))
  }
  for (scale in c("standard", "none", "decorrelate")) {
    form <- if (scale == "none") "between" else "within"
    fit <- ewp(x, 3, lambda = if (scale == "none") 400 else 15, scale = scale, dispersion = form,
               weights = "cluster", seed = 0)
    told <- python(if (scale == "none") "None" else paste0("'", scale, "'"), form)
    expect_equal(as.vector(t(fit$weights)), told$weights, tolerance = 1e-10)
    expect_equal(as.vector(t(fit$centers)), told$centers, tolerance = 1e-10)
    expect_identical(unname(fit$cluster), as.integer(told$labels) + 1L)
    expect_equal(fit$objective, told$objective, tolerance = 1e-12)
    expect_equal(fit$totss, told$totss, tolerance = 1e-12)
    expect_equal(fit$effective_features, told$effective, tolerance = 1e-12)
    expect_identical(predict(fit, new), as.integer(told$predict) + 1L, ignore_attr = TRUE)
    distance <- predict(fit, new, type = "distance")
    expect_equal(as.vector(t(distance)), told$distance, tolerance = 1e-11)
    expect_identical(max.col(-distance, ties.method = "first"), as.integer(told$predict) + 1L)
    expect_identical(predict(fit, x), fit$cluster)
    expect_equal(augment.ewp(fit, x)$.distance, told$of_fit, tolerance = 1e-9)
  }
})

test_that("fits that were saved predict without Python", {
  fit <- own_fit()
  new <- new_rows()
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  expect_identical(readRDS(file), fit)
  told <- in_fresh_r(c(
    "library(ewp)", sprintf("fit <- readRDS(%s)", encodeString(file, quote = "'")),
    "set.seed(1); new <- matrix(rnorm(40 * 8, sd = 12), 40, 8, dimnames = list(NULL, letters[1:8]))",
    "cat(predict(fit, new), '\\n'); cat(reticulate::py_available(), '\\n')"
  ), env = "RETICULATE_PYTHON=/nowhere/python")
  expect_identical(utils::tail(trimws(told), 2L), c(paste(predict(fit, new), collapse = " "), "FALSE"))
})

test_that("formulas, starting centres, names of rows and one row work as with common weights", {
  x <- subspaces()
  fit <- own_fit()
  frame <- data.frame(x, kind = rep(c("a", "b"), 75))
  by_formula <- ewp(~ . - kind, frame, k = 3, lambda = 15, scale = TRUE, weights = "cluster", seed = 0)
  expect_equal(by_formula$weights, fit$weights)
  expect_identical(predict(by_formula, frame), fit$cluster)
  started <- ewp(x, fit$centers, lambda = 15, scale = TRUE, weights = "cluster", seed = 0, nstart = 1)
  expect_identical(started$cluster, fit$cluster)
  expect_identical(predict(fit, frame[, rev(names(frame))]), fit$cluster)
  expect_identical(predict(fit, x[7, ]), unname(fit$cluster[7]), ignore_attr = TRUE)
  expect_equal(fitted(fit), fit$centers[fit$cluster, ])
  one <- ewp(x, 1, lambda = 15, scale = TRUE, weights = "cluster", seed = 0)
  expect_identical(dim(one$weights), c(1L, 8L))
  expect_identical(predict(one, x), one$cluster)
  expect_identical(ewp(x, 3, lambda = 15, scale = TRUE, seed = 0)$weights,
                   ewp(x, 3, lambda = 15, scale = TRUE, weights = "common", seed = 0)$weights)
})

test_that("refit and update go from one kind of weights to the other", {
  x <- subspaces()
  fit <- own_fit()
  common <- ewp_refit(fit, x, weights = "common")
  expect_length(common$weights, 8L)
  expect_null(dim(common$weights))
  expect_identical(common$scaling, "standard")
  again <- ewp_refit(common, x, weights = "cluster")
  expect_lte(again$objective, common$objective)
  expect_identical(dim(ewp_refit(fit, x, lambda = 30)$weights), c(3L, 8L))
  call <- ewp(x, 3, lambda = 15, scale = TRUE, weights = "cluster", seed = 0)
  updated <- update(call, weights = "common")
  expect_equal(updated$weights, ewp(x, 3, lambda = 15, scale = TRUE, seed = 0)$weights)
  expect_equal(update(updated, weights = "cluster")$weights, fit$weights)
  expect_error(ewp_refit(fit, x, weights = "own"), "weights = \"own\" is unknown")
})

test_that("what is printed says whose weights they are", {
  fit <- own_fit()
  expect_output(print(fit), "Feature weights of every cluster:")
  expect_output(print(fit, top = 2L), "Feature weights of every cluster, 2 of 8 features:")
  found <- summary(fit)
  expect_true(found$by_cluster)
  expect_equal(found$clusters$features, unname(apply(fit$weights, 1L, effective)))
  first <- which.max(fit$weights[1L, ])
  expect_match(found$clusters$heaviest[1L], sprintf("^%s %.2f, ", names(first), fit$weights[1L, first]))
  expect_equal(found$features$weight, unname(sort(mean_weights(fit), decreasing = TRUE)))
  expect_output(print(found), "weights: +of every cluster")
  expect_output(print(found), "Every cluster has feature weights of its own")
  common <- summary(iris_fit())
  expect_false(common$by_cluster)
  expect_named(common$clusters, c("size", "share", "withinss"))
})

test_that("tables have a weight per cluster and column", {
  skip_if_not_installed("generics")
  fit <- own_fit()
  x <- subspaces()
  weights <- generics::tidy(fit, "weights")
  expect_named(weights, c("cluster", "term", "estimate"))
  expect_identical(nrow(weights), 24L)
  expect_equal(weights$estimate, unname(fit$weights[cbind(as.character(weights$cluster), weights$term)]))
  common <- generics::tidy(iris_fit(), "weights")
  expect_identical(stats::setNames(common$estimate, common$term), iris_fit()$weights)
  clusters <- generics::tidy(fit)
  expect_identical(names(clusters), c(letters[1:8], "size", "withinss", "cluster"))
  expect_equal(generics::glance(fit)$effective.features, fit$effective_features)
  squared <- tapply(generics::augment(fit, x)$.distance^2, fit$cluster, sum)
  expect_equal(as.vector(squared), fit$withinss + fit$metric$mass * fit$metric$price)
})

test_that("pictures have one column a cluster", {
  fit <- own_fit()
  x <- subspaces()
  drawing({
    expect_invisible(plot(fit))
    expect_invisible(plot(fit, top = 3, main = "weights", col = grDevices::heat.colors(9)))
    plot(fit, "trace")
    plot(fit, "clusters", data = x)
    plot(fit, "clusters", data = x, features = c("a", "b"))
  })
  cells <- cells_of(fit$weights, 5L)
  expect_identical(nlevels(cells$feature), 5L)
  expect_identical(levels(cells$cluster), c("1", "2", "3"))
  expect_equal(cells$weight, fit$weights[cbind(as.character(cells$cluster), as.character(cells$feature))])
  # those that are heaviest anywhere, in the order of the clusters where they are
  shown <- heaviest_anywhere(fit$weights, 5L)
  most <- apply(fit$weights, 2L, max)
  expect_gte(min(most[shown]), max(most[-shown]))
  expect_false(is.unsorted(apply(fit$weights[, shown], 2L, which.max)))
  skip_if_not_installed("ggplot2")
  drawing({
    expect_s3_class(ggplot2::autoplot(fit, top = 5), "ggplot")
    print(ggplot2::autoplot(fit))
    print(ggplot2::autoplot(fit, "clusters", data = x))
  })
})

test_that("questions about the partition are answered", {
  fit <- own_fit()
  x <- subspaces()
  expect_gt(min(ewp_stability(fit, x, n_boot = 4, seed = 0)$clusters$jaccard), 0.9)
  refined <- ewp_refine(fit, x)
  expect_identical(predict(refined, x), refined$cluster)
  profile <- ewp_profile(fit, x)
  expect_equal(stats::setNames(profile$table$weight, profile$table$feature), sort(mean_weights(fit), TRUE))
  expect_output(print(profile), "mean of the weights that every cluster has of its own")
  agreement <- ewp_agreement(fit, ewp_refit(fit, x, weights = "common"))
  expect_equal(stats::setNames(agreement$weights$this, agreement$weights$feature), mean_weights(fit))
  expect_equal(ewp_agreement(fit, fit)$weight_distance, 0)
  compared <- ewp_compare(x, 3, lambda = 15, scale = TRUE, weights = "cluster", wbound = 1.5, seed = 1)
  expect_equal(compared$weights[, "EWP"], mean_weights(compared$fits$EWP))
  expect_match(compared$notes, "means, by mass", all = FALSE)
  page <- ewp_report(fit, x, tempfile(fileext = ".html"))
  on.exit(unlink(page))
  expect_match(paste(readLines(page, encoding = "UTF-8"), collapse = " "), "weights of every cluster")
})

own_draws <- local({
  found <- NULL
  function() {
    if (is.null(found)) found <<- ewp_bootstrap(own_fit(), subspaces(), n_boot = 40, n_jackknife = 6, seed = 5)
    found
  }
})

test_that("ewp_bootstrap gives Python's intervals cluster by cluster", {
  found <- own_draws()
  python <- in_python(x = subspaces(), c(
    "r = ewp.fit(X, 3, lam=15.0, scale='standard', weights='cluster', random_state=0)",
    "b = r.bootstrap(n_boot=40, n_jackknife=6, random_state=5)",
    "i = b.weight_intervals(); show('cluster', i.index.get_level_values('cluster'))",
    "for name in ('weight', 'lower', 'upper', 'se', 'bias'): show(name, i[name])",
    "show('selected', b.selection_frequency); show('draws', b.weight_draws)",
    "show('jaccard', b.clusters['jaccard']); show('centers', b.centroid_intervals()['upper'])",
    "s = b.rank_switches(); show('whose', s['cluster']); show('switched', s['switched'])"
  ))
  table <- found$weights
  expect_identical(table$cluster, as.integer(python$cluster) + 1L)
  expect_identical(table$feature, rep(letters[1:8], 3))
  for (name in c("weight", "lower", "upper", "se", "bias", "selected")) {
    expect_equal(table[[name]], python[[name]], tolerance = 1e-8)
  }
  expect_equal(table$weight, as.vector(t(own_fit()$weights)))
  expect_identical(dim(found$draws), c(40L, 3L, 8L))
  expect_identical(dimnames(found$draws), c(list(NULL), dimnames(own_fit()$weights)))
  expect_equal(as.vector(aperm(found$draws)), python$draws, tolerance = 1e-8)
  expect_equal(as.vector(apply(found$draws, 1:2, sum)), rep(1, 120))
  expect_equal(found$clusters$jaccard, python$jaccard, tolerance = 1e-10)
  expect_equal(found$centers$upper, python$centers, tolerance = 1e-6)
  expect_identical(found$switches$cluster, as.integer(python$whose) + 1L)
  expect_equal(found$switches$switched, python$switched)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(found, file)
  expect_identical(readRDS(file), found)
})

test_that("confint names rows by cluster and column, and parm chooses columns in every cluster", {
  found <- own_draws()
  ends <- confint(found)
  expect_identical(dimnames(ends), list(paste(rep(1:3, each = 8), letters[1:8], sep = ":"), c("2.5 %", "97.5 %")))
  expect_equal(unname(ends), unname(as.matrix(found$weights[c("lower", "upper")])), ignore_attr = TRUE)
  some <- confint(found, c("d", "a"))
  expect_identical(rownames(some), c("1:d", "1:a", "2:d", "2:a", "3:d", "3:a"))
  expect_identical(some, ends[rownames(some), ])
  expect_identical(confint(found, c(4, 1)), some)
  expect_identical(confint(found, -(2:8)), ends[c("1:a", "2:a", "3:a"), ])
  expect_error(confint(found, c("a", "z")), "parm: no column of the data is z; the columns are a, b, c")
  expect_error(confint(found, 9), "parm: no column of the data is 9")
  # another level, of percentiles
  found$weights$method <- "percentile"
  half <- confint(found, "b", level = 0.5)
  expect_identical(dimnames(half), list(c("1:b", "2:b", "3:b"), c("25 %", "75 %")))
  for (j in 1:3) expect_equal(half[j, ], stats::quantile(found$draws[, j, "b"], c(0.25, 0.75)), ignore_attr = TRUE)
  options <- list(n_boot = 5, n_jackknife = 0, start = "estimates", seed = 1)
  direct <- suppressWarnings(do.call(confint, c(list(own_fit(), "b", x = subspaces()), options)))
  expect_identical(rownames(direct), c("1:b", "2:b", "3:b"))
})

test_that("a bootstrap is printed and tidied cluster by cluster", {
  found <- own_draws()
  expect_output(print(found), "with weights of every cluster: 40 resamples.*cluster feature.*dissolved")
  first <- heaviest_rows(found$weights, 2L)
  expect_identical(first$cluster, rep(1:3, each = 2L))
  for (j in 1:3) {
    expect_identical(first$feature[first$cluster == j],
                     names(sort(own_fit()$weights[j, ], decreasing = TRUE))[1:2])
  }
  expect_output(print(found, top = 2), "6 features of every cluster with less weight are not listed")
  pair <- found$switches[1L, ]
  expect_output(print(found), sprintf("%s and %s\\s+of\\s+cluster\\s+%d", pair$heavier, pair$lighter, pair$cluster))
  skip_if_not_installed("generics")
  tidied <- generics::tidy(found)
  expect_named(tidied, c("cluster", "term", "estimate", "std.error", "bias", "conf.low", "conf.high", "selected"))
  weights <- generics::tidy(own_fit(), "weights")
  expect_equal(as.data.frame(tidied)[names(weights)], as.data.frame(weights))
  expect_identical(generics::glance(found)$n.boot, 40L)
})

test_that("a bootstrap is drawn in a panel for each cluster, with the same columns in all", {
  found <- own_draws()
  drawing({
    before <- graphics::par(c("mfrow", "mai", "omi", "cex"))
    expect_invisible(plot(found))
    expect_invisible(plot(found, top = 3, main = "three", col = 2:4, cex = 0.8, xlim = c(0, 1), xlab = "share"))
    expect_identical(graphics::par(c("mfrow", "mai", "omi", "cex")), before)
    expect_invisible(plot(found, cluster = 2, main = "second"))
  })
  panels <- in_panels(found$weights, 3L)
  expect_identical(panels$cluster, rep(1:3, each = 3L))
  expect_identical(panels$feature, rep(colnames(own_fit()$weights)[heaviest_anywhere(own_fit()$weights, 3L)], 3))
  alone <- drawn_weights(found, 2)
  expect_equal(stats::setNames(alone$weight, alone$feature), own_fit()$weights[2L, ])
  expect_error(plot(found, cluster = 4), "cluster = 4 is none of the clusters 1 to 3")
  expect_error(plot(found, cluster = "b"), "cluster = \"b\" is not a whole number")
  common <- list(draws = matrix(0, 2L, 3L))
  expect_error(drawn_weights(common, 1), "all clusters have the same weights; leave it out")
  skip_if_not_installed("ggplot2")
  picture <- ggplot2::autoplot(found, top = 3)
  expect_s3_class(picture, "ggplot")
  expect_identical(levels(picture$data$cluster), paste("cluster", 1:3))
  drawn <- ggplot2::ggplot_build(picture)$data[[1L]]
  expect_identical(nlevels(drawn$PANEL), 3L)
  expect_length(unique(drawn$fill), 3L)
  expect_identical(nrow(ggplot2::autoplot(found, cluster = 1)$data), 8L)
})

test_that("more clusters than there is room for are counted", {
  k <- 22L
  many <- own_draws()
  many$weights <- cbind(cluster_and_feature(k, c("a", "b")), weight = 0.5, lower = 0.4, upper = 0.6, se = 0,
                        bias = 0, selected = 1, method = "percentile")
  many$clusters <- data.frame(cluster = seq_len(k), jaccard = 1, jaccard_sd = 0, dissolved = 0L, recovered = 40L)
  many$draws <- array(0.5, c(40L, k, 2L))
  many$switches <- many$switches[0L, ]
  told <- capture.output(print(many, top = 1))
  expect_match(told, "Weights of 2 more clusters are not listed.", fixed = TRUE, all = FALSE)
  expect_match(told, "1 feature of every cluster with less weight is", all = FALSE)
  expect_identical(unique(in_panels(many$weights, 2L)$cluster), 1:12)
  drawing(expect_invisible(plot(many)))
})

test_that("a single cluster has a bootstrap too", {
  x <- subspaces()
  one <- ewp(x, 1, lambda = 15, scale = TRUE, weights = "cluster", seed = 0)
  found <- suppressWarnings(ewp_bootstrap(one, x, n_boot = 5, n_jackknife = 0, seed = 1))
  expect_identical(dim(found$draws), c(5L, 1L, 8L))
  expect_identical(rownames(confint(found)), paste0("1:", letters[1:8]))
  drawing(expect_invisible(plot(found)))
})

test_that("a page holds the bootstrap of weights of every cluster", {
  page <- ewp_report(own_fit(), subspaces(), tempfile(fileext = ".html"), with = "bootstrap", seed = 1)
  on.exit(unlink(page))
  expect_match(paste(readLines(page, encoding = "UTF-8"), collapse = " "), "Bootstrap of the weights of every cluster")
})

test_that("questions about one set of weights say how to get there", {
  fit <- own_fit()
  x <- subspaces()
  cure <- "ewp_refit\\(fit, x, weights = \"common\"\\)"
  expect_error(ewp_test_features(fit, x), cure)
  expect_error(ewp_test_differences(fit, x), cure)
  expect_error(ewp_consistency(fit, x), cure)
  expect_error(as_sparcl(fit), cure)
  for (name in c("test_features", "test_differences", "consistency")) {
    expect_error(ewp_report(fit, x, tempfile(), with = name), paste0("ewp_", name, "\\(\\) asks.*", cure))
  }
  expect_match(fit$python$call, "weights=\"cluster\"", fixed = TRUE)
})

test_that("what cannot be fitted is refused with a cure", {
  expect_error(weights_option(c(1, 2)), "weights of the rows are called sample_weight")
  expect_error(weights_option("own"), "weights = \"own\" is unknown")
  expect_identical(weights_option(WEIGHTS), list())
  expect_identical(weights_option("common"), list())
  x <- subspaces()
  holes <- x
  holes[3, 2] <- NA
  own <- function(x, ...) ewp(x, 3, lambda = 15, weights = "cluster", seed = 0, scale = TRUE, ...)
  # the cure that helps, at once and wherever such weights are asked for
  whole <- "in 1 column: b \\(1 row\\); weights = \"cluster\" needs all values of a row: leave .*na.omit, impute"
  expect_error(own(holes), whole)
  expect_error(own(holes, na.action = na.pass), whole)
  expect_error(ewp(~ ., as.data.frame(holes), 3, weights = "cluster"), whole)
  expect_error(ewp_select_lambda(holes, 3, weights = "cluster"), whole)
  expect_error(ewp_select_k(~ ., as.data.frame(holes), weights = "cluster"), whole)
  expect_error(ewp(holes, 3, weights = "auto"), "with na.action = na.pass, leave")
  expect_length(own(holes, na.action = na.omit)$cluster, 149L)
  expect_error(predict(own_fit(), holes), "need all values of a row: impute them")
  complete <- own(x, na.action = na.pass)
  expect_equal(complete$weights, own_fit()$weights)
  expect_error(predict(complete, holes), "need all values of a row: impute them")
  expect_error(own(x, robust = "trim"), "weights=\"cluster\" is not possible with robust")
  counts <- round(x - min(x))
  expect_error(own(counts, divergence = "poisson"), "give neither divergence nor offset")
  expect_error(ewp(x, 3, lambda = 15, weights = rep(1, 150)), "sample_weight")
  expect_error(ewp_select_lambda(x, 3, weights = "cluster", criterion = "gap"), "criterion=\"predictive\"")
})

test_that("weights = \"auto\" means common ones where nothing is chosen, and held-out rows choose otherwise", {
  x <- subspaces()
  expect_null(dim(ewp(x, 3, lambda = 15, scale = TRUE, weights = "auto", seed = 0)$weights))
  chosen <- ewp_select_lambda(x, 3, nlambda = 3, cv = 3, scale = TRUE, weights = "auto", seed = 0)
  expect_identical(dim(chosen$fit$weights), c(3L, 8L))
  expect_identical(chosen$fit$selection$chosen$weights, "cluster")
  expect_true(chosen$fit$selection$advantage$clear)
  expect_match(chosen$reason, "Weights of every cluster were taken")
  # R's account is Python's, but for the typographic minus
  expect_identical(chosen$fit$selection$reason, gsub("\u2212", "-", chosen$reason))
  # a fit that was chosen goes back to Python whole
  expect_gt(min(ewp_stability(chosen$fit, x, n_boot = 2, seed = 0)$clusters$jaccard), 0.9)
  several <- ewp_select_k(x, 2:3, nlambda = 2, cv = 3, scale = TRUE, weights = "cluster", seed = 0)
  expect_identical(several$k, 3L)
  expect_identical(dim(several$fits[["2"]]$weights), c(2L, 8L))
  expect_output(print(several), "k = 3")
})

test_that("the account of a choice between both kinds of weights says which was taken, and why", {
  found <- list(clear = FALSE, gain = -0.123, error = 0.05, excess = 0.2, whole = 1)
  expect_match(advantage_in_words(found), "were not taken: their partition gains -0.12 (standard error 0.05)",
               fixed = TRUE)
  found$clear <- TRUE
  expect_match(advantage_in_words(found), "were taken", fixed = TRUE)
  expect_identical(advantage_in_words(NULL), "")
})

test_that("clusters in columns of their own are Python's draw", {
  skip_without_python()
  found <- ewp_subspaces(3, p = 12, n_relevant = 4, seed = 5)
  python <- in_python(c(
    "d = ewp.datasets.make_subspaces(3, p=12, n_relevant=4, random_state=5)",
    "show('x', d.X); show('labels', d.labels); show('centers', d.centers)"
  ))
  expect_identical(as.vector(t(found$x)), python$x)
  expect_identical(found$cluster, as.integer(python$labels) + 1L)
  expect_identical(as.vector(t(found$centers)), python$centers)
  expect_identical(as.vector(rowSums(found$centers != 0)), rep(4, 3))
})
