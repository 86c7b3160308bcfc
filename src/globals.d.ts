// @connectrpc/connect names DOM's HeadersInit. Without this line skipLibCheck would silently turn it into `any`.
export {};
declare global {
  type HeadersInit = ConstructorParameters<typeof Headers>[0];
}
