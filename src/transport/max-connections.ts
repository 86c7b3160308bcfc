/** Open connections per port. Further ones are closed at once; existing ones stay. */
export const MAX_CONNECTIONS = 10_000;
