test_that("the results object made of a fit is the one Python had", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3, sample_weight = rep(1:2, 60))
  results <- as_results(fit, x)
  again <- as_ewp(results, list(x = x), fit$seed, fit$call)
  expect_equal(again, fit)
  expect_equal(from_python(results$predict(to_array(x))) + 1, unname(fit$cluster), ignore_attr = TRUE)
})

test_that("ewp_bootstrap gives Python's intervals", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3)
  resampled <- ewp_bootstrap(fit, x, n_boot = 40, n_jackknife = 6, seed = 5)
  expect_s3_class(resampled, c("ewp_bootstrap", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "r = ewp.fit(X, 3, 8.0, random_state=3)",
    "b = r.bootstrap(n_boot=40, n_jackknife=6, random_state=5)",
    "i = b.weight_intervals(); show('lower', i['lower']); show('upper', i['upper'])",
    "show('jaccard', b.clusters['jaccard']); show('draws', b.weight_draws); show('centers', b.centroid_intervals()['upper'])"
  ))
  expect_equal(resampled$weights$lower, python$lower, tolerance = 1e-10)
  expect_equal(resampled$weights$upper, python$upper, tolerance = 1e-10)
  expect_equal(as.vector(t(resampled$draws)), python$draws, tolerance = 1e-10)
  expect_equal(resampled$centers$upper, python$centers, tolerance = 1e-6)
  expect_identical(resampled$weights$feature, names(fit$weights))
  expect_setequal(resampled$centers$cluster, 1:3)
  expect_equal(resampled$clusters$jaccard, python$jaccard, tolerance = 1e-10)
  expect_identical(resampled$clusters$cluster, 1:3)
  expect_output(print(resampled), "40 resamples.*dissolved")
  expect_output(print(resampled), "Every cluster is found again in all resamples.")
  resampled$clusters$dissolved[2] <- 13
  expect_output(print(resampled), "In 13 of 40 resamples cluster 2 is another one.")
  drawing(expect_invisible(plot(resampled)))
  expect_warning(
    without <- ewp_bootstrap(fit, x, n_boot = 5, n_jackknife = 0, start = "estimates", seed = 5),
    "5 resamples are too few for 95 % intervals", fixed = TRUE
  )
  expect_identical(unique(without$weights$method), "percentile")
  expect_identical(without$start, "estimates")
  expect_output(print(without), "without a jackknife")
})

test_that("ewp_bootstrap refuses what makes no sense", {
  fit <- iris_fit()
  expect_error(ewp_bootstrap(list(), numbers), "not a fit")
  expect_error(ewp_bootstrap(fit), "x is missing")
  expect_error(ewp_bootstrap(fit, numbers[1:10, ]), "10 rows, but the fit had 150")
  expect_error(ewp_bootstrap(fit, numbers + 1), "the mean of Sepal.Length is 6.843, in the fit it was 5.843")
  expect_error(ewp_bootstrap(fit, numbers[150:1, ]), "% of its rows belong to other clusters")
  expect_error(ewp_consistency(fit, numbers * 2), "not the data of the fit")
  expect_error(ewp_bootstrap(fit, numbers, n_boot = 1), "n_boot")
  expect_error(ewp_bootstrap(fit, numbers, level = 1), "level")
  expect_error(ewp_bootstrap(fit, numbers, method = "basic"), "method")
  expect_error(ewp_bootstrap(fit, numbers, threshold = 2), "threshold")
  expect_error(ewp_bootstrap(fit, numbers, start = "random"), "start")
  expect_error(ewp_bootstrap(fit, numbers, n_boot = 40, n_jackknife = 0, method = "bca"), "jackknife")
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

test_that("confint gives the intervals of the weights", {
  fit <- iris_fit()
  resampled <- ewp_bootstrap(fit, iris, n_boot = 40, n_jackknife = 0, seed = 1)
  ends <- confint(resampled)
  expect_identical(dimnames(ends), list(names(numbers), c("2.5 %", "97.5 %")))
  expect_equal(unname(ends[, 1]), resampled$weights$lower)
  expect_equal(confint(fit, x = iris, n_boot = 40, n_jackknife = 0, seed = 1), ends)
  narrow <- confint(resampled, "Petal.Width", level = 0.5)
  expect_identical(dimnames(narrow), list("Petal.Width", c("25 %", "75 %")))
  expect_true(narrow[1] >= ends["Petal.Width", 1] && narrow[2] <= ends["Petal.Width", 2])
  bca <- ewp_bootstrap(fit, iris, n_boot = 40, n_jackknife = 5, method = "bca", seed = 1)
  expect_error(confint(bca, level = 0.5), "ewp_bootstrap(level = 0.5)", fixed = TRUE)
})

test_that("ewp_stability gives Python's similarities", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3)
  found <- ewp_stability(fit, x, n_boot = 6, seed = 5)
  expect_s3_class(found, c("ewp_stability", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "r = ewp.fit(X, 3, 8.0, random_state=3)",
    "s = r.stability(6, random_state=5)",
    "show('jaccard', s.jaccard); show('stays', s.points['stays']); show('next', s.points['next'])",
    "show('together', s.co_membership([0, 1, 5]))"
  ))
  expect_equal(as.vector(t(found$jaccard)), python$jaccard, tolerance = 1e-10)
  expect_equal(found$points$stays, python$stays, tolerance = 1e-10)
  expect_identical(ifelse(is.na(found$points$nearest), 0, found$points$nearest), python$`next` + 1)
  expect_identical(rownames(found$points), rownames(x))
  together <- ewp_together(found, c(1, 2, 6))
  expect_equal(as.vector(together), python$together, tolerance = 1e-10)
  expect_equal(unname(diag(together)), rep(1, 3))
  expect_output(print(found), "6 resamples")
  drawing(expect_invisible(plot(found)))
  expect_error(ewp_stability(fit, x, scheme = "jackknife"), "scheme")
  expect_error(ewp_stability(fit, x + 1), "not the data of the fit")
  expect_error(ewp_together(fit), "ewp_stability")
})

test_that("ewp_test_features gives Python's p-values", {
  skip_without_python()
  x <- groups(120, 5)
  fit <- ewp(x, 3, lambda = 8, seed = 3)
  found <- ewp_test_features(fit, x, seed = 5)
  python <- in_python(x = x, c(
    "r = ewp.fit(X, 3, 8.0, random_state=3)",
    "t = r.test_features(random_state=5).table",
    "show('p', t['p_value']); show('bh', t['p_bh']); show('r2', t['partial_r2'])"
  ))
  expect_equal(found$table$p_value, python$p)
  expect_equal(found$table$p_bh, python$bh)
  expect_equal(found$table$partial_r2, python$r2, tolerance = 1e-8)
  expect_identical(found$table$feature, names(fit$weights))
  expect_output(print(found), "2 of 5 tested columns")
  expect_output(print(found), "Null hypothesis: given the other columns")
  drawing(expect_invisible(plot(found)))
})

test_that("results of all classes have tidy and glance, with broom's names", {
  skip_if_not_installed("generics")
  fit <- iris_fit()
  resampled <- ewp_bootstrap(fit, iris, n_boot = 40, n_jackknife = 0, seed = 1)
  expect_named(generics::tidy(resampled),
               c("term", "estimate", "std.error", "bias", "conf.low", "conf.high", "selected"))
  tested <- generics::tidy(ewp_test_features(fit, iris, seed = 1))
  expect_true(all(c("term", "estimate", "p.value", "adj.p.value") %in% names(tested)))
  stable <- ewp_stability(fit, iris, n_boot = 3, seed = 1)
  expect_identical(levels(generics::tidy(stable)$cluster), c("1", "2", "3"))
  expect_equal(generics::augment(stable, iris)$.stays, stable$points$stays)
  expect_error(generics::augment(stable, iris[1:3, ]), "3 rows")
  compared <- ewp_compare(numbers, 3, lambda = 20, scale = TRUE, wbound = 1.4, seed = 1)
  expect_identical(as.integer(generics::augment(compared, iris)$.cluster.EWP), compared$fits$EWP$cluster)
  found <- list(
    resampled, stable, compared, ewp_consistency(fit, iris, sizes = c(30, 60), n_rep = 2, seed = 1),
    ewp_test_features(fit, iris, seed = 1), ewp_agreement(fit, iris$Species),
    ewp_select_lambda(numbers, 3, nlambda = 2, cv = 2, scale = TRUE, seed = 1),
    ewp_select_k(numbers, 2:3, nlambda = 2, cv = 2, scale = TRUE, seed = 1),
    ewp_compare(numbers, 3, lambda = 20, scale = TRUE, methods = "kmeans", n_trials = 2, seed = 1)
  )
  for (one in found) {
    expect_gt(nrow(generics::tidy(one)), 0)
    expect_identical(nrow(generics::glance(one)), 1L)
    expect_false(any(grepl("_", c(names(generics::tidy(one)), names(generics::glance(one))))) &&
                   !inherits(one, "ewp_stability"))
  }
})
