/** A header of HTTP, a metadata entry of gRPC: name in lower case, value in printable ASCII. */
export type Header = readonly [name: string, value: string];
