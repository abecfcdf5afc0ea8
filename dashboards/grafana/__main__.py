"""python -m dashboards.grafana

Writes dashboards/grafana/specflash.json anew: import it in Grafana and choose your Prometheus.
"""

from dashboards.grafana.board import FILE, board_json

if __name__ == "__main__":
    FILE.write_text(board_json(), encoding="utf-8")
    print(f"wrote {FILE}")
