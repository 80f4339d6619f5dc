"""How good each model is, with honest intervals, and which one may score.

Use `evaluate_models` (evaluate), `choose_champion` and `check_champion_gate` (champion).
"""
