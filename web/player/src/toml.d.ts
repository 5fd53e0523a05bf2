// The types of the run-time's elements by their names, by standard, which the build reads from the server's
// table.
declare module "*/cmi.toml" {
  const types: { "1.2": Record<string, string>; "2004": Record<string, string> };
  export default types;
}
