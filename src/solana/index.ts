export { openChain, type ChainOptions, type SolanaChain } from "./payments/chain.ts";
export { SolanaDeposits } from "./deposits/deposit-chain.ts";
export { SolanaStatus } from "./operations/chain-status.ts";
export { SolanaRelayChain } from "./payments/relay-chain.ts";
export { lazySignInForms } from "./accounts/lazy-sign-in-forms.ts";
export { SolanaTreasury, type SolanaTreasuryOptions } from "./treasury/treasury-chain.ts";
export { adviseOnEndpoints, checkChain, type ChainProblem } from "./operations/startup-checks.ts";
export { lazyWalletPayments } from "./deposits/lazy-wallet-payments.ts";
