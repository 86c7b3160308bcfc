/** An HTTP header or a gRPC metadata entry: lower-case name, printable ASCII value. */
export type Header = readonly [name: string, value: string];
