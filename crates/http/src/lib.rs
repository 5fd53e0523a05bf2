//! What every HTTP part of Homeroom shares: calls, problems, routes, listeners.
