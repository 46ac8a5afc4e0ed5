"""What is shown: sections of the report, each made from the cells that are finished."""
