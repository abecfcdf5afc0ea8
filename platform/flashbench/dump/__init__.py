"""Features of a frozen target: extracted with Ray Data, kept in a store that survives a kill.

    from flashbench.dump.pipeline import run_dump      # Settings -> DumpSummary
    from flashbench.dump.store import FeatureStore     # FeatureStore(settings.dump_folder)
"""
