// Not bundled: the gateway reads files that are beside its code.
export default { serverExternalPackages: ['chains-and-tokens-gateway'] };
