# The verdict on structure: whether rows that were held out, when the penalty was chosen, speak for more
# than one cluster. Measured and put into words by Python; kept with a fit as plain data.

NO_CLUSTERS <- "no evidence for more than one cluster"

# NULL where nothing was asked: the penalty was given, or there is one cluster.
from_evidence <- function(results) {
  found <- reticulate::import("ewp.display.evidence", convert = FALSE)$evidence_of(results)
  if (is.null(from_python(found))) return(NULL)
  list(
    clear = from_python(found$clear), gain = from_python(found$gain), se = from_python(found$error),
    of_box = from_python(found$of_box), words = from_python(found$words())
  )
}

lacks_evidence <- function(fit) !is.null(fit$evidence) && !fit$evidence$clear

# What a fit without evidence is called in the first lines of what is printed.
verdict_line <- function(fit) {
  found <- fit$evidence
  text <- sprintf(paste0(
    NO_CLUSTERS, " (held-out log-density per row, minus that under a single elliptical cluster: %.2g nats, ",
    "standard error %.2g; parts of a single box-shaped cluster gain up to %.2g)"
  ), found$gain, found$se, found$of_box)
  paste0(strwrap(text), "\n", collapse = "")
}
