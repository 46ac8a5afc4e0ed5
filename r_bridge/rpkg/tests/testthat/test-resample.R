test_that("the results object made of a fit is the one Python had", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3, sample_weight = rep(1:2, 60))
  results <- as_results(fit, x)
  again <- as_ewp(results, x, fit$seed, fit$call)
  expect_equal(again, fit)
  expect_equal(from_python(results$predict(to_array(x))) + 1, unname(fit$cluster), ignore_attr = TRUE)
})

test_that("ewp_bootstrap gives Python's intervals", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3)
  resampled <- ewp_bootstrap(fit, x, n_boot = 10, n_jackknife = 6, seed = 5)
  expect_s3_class(resampled, c("ewp_bootstrap", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "r = ewp.fit(X, 3, 8.0, random_state=3)",
    "b = r.bootstrap(n_boot=10, n_jackknife=6, random_state=5)",
    "i = b.weight_intervals(); show('lower', i['lower']); show('upper', i['upper'])",
    "show('draws', b.weight_draws); show('centers', b.centroid_intervals()['upper'])"
  ))
  expect_equal(resampled$weights$lower, python$lower, tolerance = 1e-10)
  expect_equal(resampled$weights$upper, python$upper, tolerance = 1e-10)
  expect_equal(as.vector(t(resampled$draws)), python$draws, tolerance = 1e-10)
  expect_equal(resampled$centers$upper, python$centers, tolerance = 1e-6)
  expect_identical(resampled$weights$feature, names(fit$weights))
  expect_setequal(resampled$centers$cluster, 1:3)
  expect_output(print(resampled), "10 resamples")
  drawing(expect_invisible(plot(resampled)))
  without <- ewp_bootstrap(fit, x, n_boot = 5, n_jackknife = 0, seed = 5)
  expect_identical(without$method, "percentile")
})

test_that("ewp_bootstrap refuses what makes no sense", {
  fit <- iris_fit()
  expect_error(ewp_bootstrap(list(), numbers), "not a fit")
  expect_error(ewp_bootstrap(fit), "x is missing")
  expect_error(ewp_bootstrap(fit, numbers[1:10, ]), "10 rows, but the fit had 150")
  expect_error(ewp_bootstrap(fit, numbers, n_boot = 1), "n_boot")
  expect_error(ewp_bootstrap(fit, numbers, level = 1), "level")
  expect_error(ewp_bootstrap(fit, numbers, method = "basic"), "method")
  expect_error(ewp_bootstrap(fit, numbers, threshold = 2), "threshold")
  expect_error(ewp_bootstrap(fit, numbers, n_boot = 3, n_jackknife = 0, method = "bca"), "jackknife")
})

test_that("ewp_consistency gives Python's errors and slopes", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3)
  grown <- ewp_consistency(fit, x, sizes = c(30, 60, 90), n_rep = 3, seed = 5)
  expect_s3_class(grown, c("ewp_consistency", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "r = ewp.fit(X, 3, 8.0, random_state=3)",
    "c = r.consistency(sizes=[30, 60, 90], n_rep=3, random_state=5)",
    "show('weights', c.table['weights']); show('slope', c.slopes['slope'])"
  ))
  expect_equal(grown$table$weights, python$weights, tolerance = 1e-8)
  expect_equal(grown$slopes$slope, python$slope, tolerance = 1e-8)
  expect_identical(grown$table$n, c(30L, 60L, 90L))
  expect_identical(nrow(grown$replicates), 9L)
  expect_output(print(grown), "log-log.*between 30 and 90 rows")
  drawing(expect_invisible(plot(grown)))
})

test_that("ewp_consistency takes a known population", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3)
  known <- list(centers = fit$centers, weights = fit$weights)
  grown <- ewp_consistency(fit, x, sizes = c(40, 80), n_rep = 2, reference = known, seed = 5)
  expect_identical(grown$reference, "population")
})

test_that("ewp_consistency refuses what makes no sense", {
  fit <- iris_fit()
  expect_error(ewp_consistency(kmeans(numbers, 3), numbers), "not a fit")
  expect_error(ewp_consistency(fit), "x is missing")
  expect_error(ewp_consistency(fit, numbers, sizes = "all"), "sizes")
  expect_error(ewp_consistency(fit, numbers, sizes = c(20, 1000)), "sizes")
  expect_error(ewp_consistency(fit, numbers, n_rep = 0), "n_rep")
  expect_error(ewp_consistency(fit, numbers, reference = 1), "reference")
  wrong <- list(centers = fit$centers[1:2, ], weights = fit$weights)
  expect_error(ewp_consistency(fit, numbers, reference = wrong), "2 centers and 4 weights")
})
