"""The embedded default: small real targets built on SmolLM2-135M that run on a laptop CPU."""
