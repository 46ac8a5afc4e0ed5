"""What is computed: functions of plain inputs that return plain values, one call a cell."""
