export default () => <h1>tools</h1>
