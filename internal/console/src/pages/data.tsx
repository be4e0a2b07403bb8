export default () => <h1>data</h1>
