// @connectrpc/connect uses DOM's HeadersInit; without this, skipLibCheck would make it `any`.
export {};
declare global {
  type HeadersInit = ConstructorParameters<typeof Headers>[0];
}
