holey <- function() {
  x <- as.matrix(numbers)
  set.seed(5)
  x[sample(length(x), 60)] <- NA
  x[rowSums(!is.na(x)) == 0, 1] <- 5
  rownames(x) <- paste0("row", seq_len(nrow(x)))
  x
}

holey_fit <- local({
  fit <- NULL
  function() {
    skip_without_python()
    if (is.null(fit)) fit <<- ewp(holey(), 3, lambda = 20, scale = TRUE, seed = 1, na.action = na.pass)
    fit
  }
})

test_that("na.pass fits to the values that are there, as Python does", {
  fit <- holey_fit()
  x <- holey()
  python <- in_python(x = x, c(
    "X = np.where(np.isnan(X), np.nan, X)", # R's NA has bits of its own
    "f = ewp.fit(X, 3, 20.0, scale='standard', missing='observed', random_state=1)",
    "show('labels', f.labels); show('weights', f.weights); show('centers', f.centroids)",
    "show('objective', f.objective); show('distance', f.transform(X))",
    "show('hash', int(f.data_sha256[:12], 16))"
  ))
  expect_identical(unname(fit$cluster), as.integer(python$labels) + 1L)
  expect_identical(unname(fit$weights), python$weights)
  expect_identical(as.vector(t(fit$centers)), python$centers)
  expect_identical(fit$objective, python$objective)
  expect_equal(unname(fit$metric$observed), unname(colMeans(!is.na(x))))
  distance <- predict(fit, x, type = "distance")
  expect_equal(as.vector(t(distance)), python$distance, tolerance = 1e-10)
  expect_identical(names(fit$cluster), rownames(x))
  expect_identical(as.numeric(paste0("0x", substr(fit$python$data_sha256, 1, 12))), python$hash)
})

test_that("a data frame, a formula and the name of the function do the same", {
  fit <- holey_fit()
  frame <- as.data.frame(holey())
  other <- ewp(frame, 3, lambda = 20, scale = TRUE, seed = 1, na.action = "na.pass")
  expect_identical(other$cluster, fit$cluster)
  formula <- ewp(~ ., frame, 3, lambda = 20, scale = TRUE, seed = 1, na.action = na.pass)
  expect_identical(formula$cluster, fit$cluster)
  expect_identical(predict(formula, frame), fit$cluster)
  expect_identical(ewp_refit(fit, frame, seed = 1)$python$data_sha256, fit$python$data_sha256)
})

test_that("missing values stay an error by default, which names the cures", {
  x <- holey()
  expect_error(ewp(x, 3), "missing values \\(NA\\) in 4 columns.*na.action = na.pass.*na.action = na.omit")
  skip_without_python()
  expect_error(ewp(x[complete.cases(x), ], 3, missing = "observed"), "na.action = na.pass fits to")
  x[7, ] <- NA
  expect_error(ewp(x, 3, na.action = na.pass), "x has 1 row without any value: row7; leave it out")
  expect_error(ewp(numbers, 3, lambda = 20, na.action = na.pass, scale = "decorrelate", seed = 1), NA)
  expect_error(
    ewp(holey(), 3, lambda = 20, na.action = na.pass, scale = "decorrelate"), "needs all values of a row"
  )
  expect_error(ewp_compare(holey(), 3, na.action = na.pass), "needs all values of a row")
})

test_that("new rows may have missing values where those of the fit might", {
  fit <- holey_fit()
  new <- as.matrix(numbers)[c(1, 60, 120), ]
  whole <- predict(fit, new)
  new[, 1] <- NA
  expect_identical(predict(fit, new), whole)
  new[2, ] <- NA
  expect_error(predict(fit, new), "newdata has 1 row without any value")
  strict <- ewp(numbers, 3, lambda = 20, scale = TRUE, seed = 1)
  expect_error(predict(strict, new[1, , drop = FALSE]), "missing values")
  open <- ewp(numbers, 3, lambda = 20, scale = TRUE, seed = 1, na.action = na.pass)
  expect_identical(open$cluster, strict$cluster)
  expect_length(predict(open, new[1, , drop = FALSE]), 1L)
})

test_that("summary, broom's verbs and pictures tell what is missing, or do without it", {
  fit <- holey_fit()
  x <- holey()
  told <- capture.output(print(summary(fit)))
  expect_match(told, "10.0 % of the values are missing, and nothing is filled in", all = FALSE)
  features <- summary(fit)$features
  expect_equal(features$missing, unname(colMeans(is.na(x))[rownames(features)]))
  expect_true(all(features$explained > 0.3 & features$explained < 1))
  augmented <- generics::augment(fit, x)
  expect_identical(as.integer(augmented$.cluster), unname(fit$cluster))
  expect_false(anyNA(augmented$.distance))
  drawing(plot(fit, data = x, which = "clusters"))
  if (requireNamespace("ggplot2", quietly = TRUE)) {
    expect_s3_class(ggplot2::autoplot(fit, "clusters", data = x), "ggplot")
  }
})

test_that("questions after the fit are answered, or refused with the cure", {
  fit <- holey_fit()
  x <- holey()
  expect_s3_class(ewp_stability(fit, x, n_boot = 5, seed = 1), "ewp_stability")
  table <- ewp_profile(fit, x)$table
  expect_equal(table$observed, unname(colSums(!is.na(x))[table$feature]))
  expect_equal(rowSums(table[paste0("observed_", 1:3)]), table$observed, ignore_attr = TRUE)
  expect_error(ewp_test_features(fit, x), "fit the rows without missing values")
  changed <- x
  changed[, 2] <- changed[, 2] + 1
  expect_error(ewp_stability(fit, changed), "x is not the data of the fit")
  read <- unserialize(serialize(fit, NULL))
  expect_identical(predict(read, x), fit$cluster)
})

test_that("refined clusters use what the others of a row say, and predict without Python", {
  fit <- holey_fit()
  x <- holey()
  for (model in c("diagonal", "tied", "full")) {
    refined <- ewp_refine(fit, x, covariance = model)
    expect_equal(predict(refined, x, type = "probability"), refined$probabilities, tolerance = 1e-8)
  }
  expect_error(predict(ewp_refine(iris_fit(), numbers), x), "missing values")
})

test_that("penalties and numbers of clusters are chosen, and exponents computed, of what is there", {
  skip_without_python()
  x <- holey()
  chosen <- ewp_select_lambda(x, 3, scale = TRUE, nlambda = 3, cv = 3, seed = 1, na.action = na.pass)
  expect_identical(chosen$fit$options$missing, "observed")
  path <- ewp_lambda_path(x, 3, nlambda = 4, scale = TRUE, na.action = na.pass)
  expect_true(all(diff(path) > 0))
  expect_lt(critical_exponent(x, na.action = na.pass), 0.5)
})
