test_that("trimmed rows have clusters, and no influence however far they lie", {
  skip_without_python()
  x <- as.matrix(numbers)
  rownames(x) <- paste0("row", seq_len(nrow(x)))
  fits <- lapply(c(100, 1e6), function(far) {
    x[c(3, 7), ] <- far
    ewp(x, 3, lambda = 20, scale = TRUE, seed = 1, robust = "trim:0.05")
  })
  out <- fits[[1]]$outliers
  expect_identical(rownames(out), rownames(x))
  expect_true(all(out$trimmed[c(3, 7)]))
  expect_true(all(out$outlyingness[out$trimmed] >= 1))
  expect_equal(max(out$outlyingness[!out$trimmed]), 1)
  expect_identical(fits[[1]]$sample_weight, as.double(!out$trimmed))
  expect_length(fits[[1]]$cluster, nrow(x))
  expect_equal(fits[[1]]$centers, fits[[2]]$centers, tolerance = 1e-6)
  expect_equal(fits[[1]]$weights, fits[[2]]$weights, tolerance = 1e-6)
  expect_null(ewp(x, 3, lambda = 20, scale = TRUE, seed = 1)$outliers)
})
