export declare const isRecent: boolean;
export declare function packagedNode(): string | undefined;
export declare function refuseNode(): never;
export declare function runOn(node: string, args: readonly string[], env?: NodeJS.ProcessEnv): void;
