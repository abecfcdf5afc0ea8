"""What a person looks at. Dashboards read finished records; they run no model."""
