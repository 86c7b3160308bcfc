export { openChain, type ChainOptions, type SolanaChain } from "./chain.ts";
export type { Log } from "./log.ts";
export { paymentInstructions } from "./payment-instructions.ts";
export { SolanaRelayChain } from "./relay-chain.ts";
export { SolanaTreasury, type SolanaTreasuryOptions } from "./treasury-chain.ts";
export { adviseOnEndpoints, checkChain, type ChainProblem } from "./startup-checks.ts";
