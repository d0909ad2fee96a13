"""The interior point method, and the smoothed projection. Private."""
