groups_fit <- local({
  fit <- NULL
  function() {
    skip_without_python()
    if (is.null(fit)) fit <<- ewp(groups(60, 3), 3, lambda = 4, scale = TRUE, seed = 3)
    fit
  }
})

test_that("ewp_test_differences gives Python's p-values, with R's numbers of clusters", {
  fit <- groups_fit()
  x <- groups(60, 3)
  found <- ewp_test_differences(fit, x, 1, 3, features = c("v3", "v1"), n_refits = 2, seed = 5)
  expect_s3_class(found, c("ewp_test_differences", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "r = ewp.fit(X, 3, 4.0, scale='standard', random_state=3)",
    "f = r.test_differences(0, 2, features=['x2', 'x0'], n_refits=2, random_state=5); t = f.table",
    "show('p', t['p_value']); show('naive', t['p_naive']); show('difference', t['difference'])",
    "show('holm', t['p_holm']); show('refits', t['refits'])"
  ))
  table <- found$table
  expect_identical(table$feature, c("(all features)", "v1", "v3"))
  expect_identical(unique(table$i), 1L)
  expect_identical(unique(table$j), 3L)
  expect_equal(table$p_value, python$p, tolerance = 1e-8)
  expect_equal(table$p_naive, python$naive, tolerance = 1e-8)
  expect_equal(table$difference, python$difference, tolerance = 1e-8)
  expect_equal(table$p_holm, python$holm, tolerance = 1e-8)
  expect_equal(table$refits, python$refits)
  # of the means, in the units of the data
  means <- tapply(x[, "v1"], fit$cluster, mean)
  expect_equal(abs(table$difference[2]), abs(means[["1"]] - means[["3"]]), tolerance = 1e-10)
  expect_identical(unserialize(serialize(found, NULL)), found)
})

test_that("all pairs, or one cluster with all others, are printed, plotted and tidied", {
  fit <- groups_fit()
  x <- groups(60, 3)
  all <- ewp_test_differences(fit, x, features = "v3", n_refits = 1, seed = 5)
  expect_identical(unique(all$table[c("i", "j")])$j, c(2L, 3L, 3L))
  one <- ewp_test_differences(fit, x, 2, features = "v3", n_refits = 1, seed = 5)
  expect_identical(unique(one$table$i), 2L)
  expect_setequal(one$table$j, c(1L, 3L))
  expect_output(print(all), "of 3 pairs of clusters", fixed = TRUE)
  expect_output(print(all), "p_naive: if the clusters had been known", fixed = TRUE)
  expect_output(print(all, top = 1), "2 lines more are not listed.", fixed = TRUE)
  other <- all
  other$lower <- 2L
  other$table$settled[1] <- FALSE
  expect_output(print(other), "NOT SETTLED: in 1 test searches.*MISSED: 2 partitions")
  drawing(expect_invisible(plot(all)))
  if (requireNamespace("ggplot2", quietly = TRUE)) expect_s3_class(ggplot2::autoplot(all), "ggplot")
  # the smallest p-value of the pairs, times their number
  table <- ewp_profile(fit, x, differences = all)$table
  own <- all$table$p_value[all$table$feature == "v3"]
  expect_equal(table$p_value[table$feature == "v3"], min(3 * min(own), 1))
  expect_true(is.na(table$p_value[table$feature == "v1"]))
  expect_output(print(ewp_profile(fit, x, differences = all)), "smallest selective p-value")
  skip_if_not_installed("generics")
  tidied <- generics::tidy(all)
  expect_named(tidied, c("term", "contrast", "weight", "estimate", "statistic", "p.value", "p.holm",
                         "adj.p.value", "p.naive"))
  expect_identical(tidied$contrast[1:3], c("1 - 2", "1 - 3", "2 - 3"))
  expect_identical(generics::glance(all)$n.tested, 6L)
})

test_that("ewp_test_differences refuses what makes no sense, in R's words", {
  fit <- groups_fit()
  x <- groups(60, 3)
  expect_error(ewp_test_differences(fit, x, 4), "i = 4 is no cluster; the fit has clusters 1 to 3")
  expect_error(ewp_test_differences(fit, x, 0), "i = 0 must be at least 1")
  expect_error(ewp_test_differences(fit, x, 2, 2), "i and j are both 2")
  expect_error(ewp_test_differences(fit, x, features = "d"), "no column is called d")
  expect_error(ewp_test_differences(fit, x, n_refits = 0), "n_refits")
  expect_error(ewp_test_differences(fit, x, covariance = diag(2)), "covariance has 2 rows and 2 columns")
  expect_error(ewp_test_differences(fit, x, covariance = -1), "covariance")
  expect_error(ewp_test_differences(fit, x + 1), "not the data of the fit")
  one <- ewp(x, 1, lambda = 4, scale = TRUE, seed = 3)
  expect_error(ewp_test_differences(one, x), "one cluster")
  weighted <- ewp(x, 3, lambda = 4, scale = TRUE, seed = 3, sample_weight = rep(1:2, 30))
  expect_error(ewp_test_differences(weighted, x), "different weights cannot be tested")
  known <- ewp_test_differences(fit, x, 1, 2, features = "v3", n_refits = 1, covariance = diag(3), seed = 1)
  expect_identical(nrow(known$table), 2L)
})
