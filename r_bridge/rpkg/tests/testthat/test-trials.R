test_that("methods of Python are compared over many starts with Python's scores", {
  skip_without_python()
  x <- groups()
  truth <- rep(1:3, length.out = 90)
  found <- ewp_compare(x, 3, truth, methods = c("kmeans", "wkmeans", "ewp"), n_trials = 3, lambda = 5,
                       scale = FALSE, seed = 6)
  expect_s3_class(found, c("ewp_trials", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "y = np.arange(90) % 3",
    "c = ewp.compare(X, 3, y, ('kmeans', 'wkmeans', 'ewp'), n_trials=3, lam=5.0, scale=None, random_state=6)",
    "show('nmi', c.scores['nmi']); show('mean', c.table()['ari']); show('p', c.table()['nmi_p'])",
    "show('weights', c.weights); show('ewp', c.labels['ewp'])"
  ))
  expect_equal(found$scores$nmi, python$nmi)
  expect_equal(found$table$ari, python$mean)
  expect_equal(found$table$nmi_p[1:2], python$p[1:2])
  expect_equal(as.vector(t(as.matrix(found$weights[-(1:2)]))), python$weights, tolerance = 1e-12)
  expect_named(found$weights, c("method", "trial", colnames(x)))
  expect_equal(as.vector(t(found$clusters$ewp)), python$ewp + 1)
  expect_identical(found$scores$trial, rep(1:3, each = 3))
  expect_output(print(found), "3 starts, 90 observations, 6 features")
  expect_output(print(found), "no\\s+other\\s+data")
  drawing(expect_invisible(plot(found)))
})

test_that("without known groups the measures are internal, and sparcl is sent to R", {
  skip_without_python()
  found <- ewp_compare(groups(60, 4), 3, n_trials = 2, methods = "harmonic", seed = 1, scale = FALSE)
  expect_identical(found$measures, c("silhouette", "between"))
  expect_null(found$weights)
  expect_error(ewp_compare(groups(60, 4), 3, methods = "sparcl"), "in R")
  expect_error(ewp_compare(groups(60, 4), 3, methods = "fuzzy", lambda = 5), "fuzzy")
  expect_error(ewp_compare(groups(60, 4), 3, methods = 1), "methods")
})

test_that("resamples are Python's, and rows that they do not hold have no cluster", {
  skip_without_python()
  x <- groups()
  truth <- rep(1:3, length.out = 90)
  found <- ewp_compare(x, 3, truth, methods = c("kmeans", "agglomerative"), n_trials = 2,
                       scale = FALSE, seed = 6, replicates = "bootstrap")
  python <- in_python(x = x, c(
    "y = np.arange(90) % 3",
    "c = ewp.compare(X, 3, y, ('kmeans', 'agglomerative'), n_trials=2, scale=None, random_state=6, replicates='bootstrap')",
    "show('nmi', c.scores['nmi']); show('labels', c.labels['kmeans'])"
  ))
  expect_equal(found$scores$nmi, python$nmi)
  labels <- as.vector(t(found$clusters$kmeans))
  expect_identical(is.na(labels), python$labels < 0)
  expect_equal(labels[!is.na(labels)], python$labels[python$labels >= 0] + 1)
  expect_output(print(found), "2 resamples")
  expect_error(ewp_compare(x, 3, methods = "kmeans", replicates = "folds"), "replicates")
})
