/** Connections that each port takes at once; a new one more is closed at once. Those that there are go on as before. */
export const MAX_CONNECTIONS = 10_000;
