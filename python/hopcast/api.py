"""`run`: a workload on a platform, a prediction."""
