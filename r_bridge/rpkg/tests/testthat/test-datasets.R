test_that("simulated data are Python's, counted from 1", {
  skip_without_python()
  found <- ewp_simulation2(3, n = 40, p = 6, n_relevant = 2, seed = 1)
  python <- in_python(c(
    "from ewp.datasets import make_simulation1, make_simulation2",
    "s = make_simulation2(3, n=40, p=6, n_relevant=2, random_state=1)",
    "show('X', s.X); show('labels', s.labels); show('one', make_simulation1(2, n=200, random_state=1).X)"
  ))
  expect_equal(as.vector(t(found$x)), python$X)
  expect_equal(found$cluster, python$labels + 1)
  expect_identical(found$relevant, 1:2)
  expect_identical(dim(found$centers), c(3L, 6L))
  expect_equal(as.vector(t(ewp_simulation1(2, n = 200, seed = 1)$x)), python$one)
  expect_identical(dim(ewp_feature_selection(n = 50, seed = 1)$x), c(50L, 20L))
  expect_error(ewp_simulation2(3, n = 2), "n=2 rows cannot fill k=3")
})

test_that("real data are loaded by name", {
  skip_without_python()
  wine <- ewp_dataset("wine")
  expect_identical(dim(wine$x), c(178L, 13L))
  expect_identical(sort(unique(wine$class)), 1:3)
  expect_true("iris" %in% ewp_dataset())
  expect_error(ewp_dataset("penguins"), "unknown data set")
})
