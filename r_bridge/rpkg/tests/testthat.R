library(testthat)
library(ewp)

test_check("ewp")
